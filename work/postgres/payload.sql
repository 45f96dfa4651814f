-- Reads what works that are not finished will send. $1 works.
SELECT p.work_id, p.content_type, p.body
  FROM adjourn.work AS w
  JOIN adjourn.work_payload AS p ON p.work_id = w.id
 WHERE w.id = ANY($1::BIGINT[])
