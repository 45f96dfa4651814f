-- Marks the slot held under a key as used. $1 key.
UPDATE adjourn.quota_reservation AS r
   SET spent = TRUE
 WHERE r.key = $1::TEXT AND NOT r.spent
