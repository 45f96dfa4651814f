-- Takes a key for the rest of the transaction. $1 key. An advisory lock, because
-- there is no row to lock before the first reservation and a refusal must write
-- none. Two keys of one hash merely wait for each other.
SELECT pg_advisory_xact_lock(hashtextextended($1::TEXT, 7094703))
