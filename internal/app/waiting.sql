-- Pending works by flow. Reads the partial index of the dispatch order and the
-- works in back-off; locks nothing.
SELECT flow, count(*), clock_timestamp() - min(created_at)
  FROM adjourn.work
 WHERE state = 'pending'
 GROUP BY flow
