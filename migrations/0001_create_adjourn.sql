-- Everything Adjourn keeps lives in its own schema, so that it can sit in the
-- user's own database and a work can be submitted in the user's own transaction.
CREATE SCHEMA IF NOT EXISTS adjourn;

-- ---------------------------------------------------------------------------
-- The quota
-- ---------------------------------------------------------------------------

-- The one definition that floors an instant to its window (G12). date_bin counts
-- absolute time from the origin, so a session's time zone and daylight saving
-- cannot move the grid. Every writer of a window goes through it.
CREATE FUNCTION adjourn.window_floor(instant TIMESTAMPTZ, length INTERVAL)
RETURNS TIMESTAMPTZ
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN date_bin(length, instant, TIMESTAMPTZ '1970-01-01 00:00:00+00');

-- The arbiter's register: one row per window, nothing else. last_grant tells a
-- batch how much of what it asked was granted, because RETURNING sees only the
-- new row.
CREATE TABLE adjourn.quota_window (
    window_start TIMESTAMPTZ NOT NULL,
    count        INTEGER     NOT NULL DEFAULT 0,
    last_grant   INTEGER     NOT NULL DEFAULT 0,
    CONSTRAINT quota_window_pkey PRIMARY KEY (window_start),
    CONSTRAINT quota_window_count_zero_or_positive CHECK (count >= 0),
    CONSTRAINT quota_window_last_grant_zero_or_positive CHECK (last_grant >= 0)
);

-- What each window saw, by flow, decision and reason: durable, so that reports
-- and the console work without a metrics system. granted + would_defer +
-- overridden + exempt is what the third party's own log shows, less the slots
-- that were wasted.
CREATE TABLE adjourn.quota_figure (
    window_start TIMESTAMPTZ NOT NULL,
    flow         TEXT        NOT NULL,
    decision     TEXT        NOT NULL,
    reason       TEXT        NOT NULL DEFAULT '',
    count        BIGINT      NOT NULL DEFAULT 0,
    CONSTRAINT quota_figure_pkey PRIMARY KEY (window_start, flow, decision, reason),
    CONSTRAINT quota_figure_decision_known CHECK (
        decision IN ('granted', 'deferred', 'would_defer', 'overridden', 'exempt')),
    CONSTRAINT quota_figure_count_positive CHECK (count > 0)
);

-- Until when the third party asked everyone to wait. At most one row.
CREATE TABLE adjourn.quota_hold (
    singleton  BOOLEAN     NOT NULL DEFAULT TRUE,
    held_until TIMESTAMPTZ NOT NULL,
    set_at     TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT quota_hold_pkey PRIMARY KEY (singleton),
    CONSTRAINT quota_hold_singleton CHECK (singleton)
);

-- Slots held under a caller's own key, so that asking twice in one window takes
-- one slot.
CREATE TABLE adjourn.quota_reservation (
    key          TEXT        NOT NULL,
    window_start TIMESTAMPTZ NOT NULL,
    spent        BOOLEAN     NOT NULL DEFAULT FALSE,
    reserved_at  TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT quota_reservation_pkey PRIMARY KEY (key),
    CONSTRAINT quota_reservation_key_bounded CHECK (octet_length(key) BETWEEN 1 AND 300)
);
CREATE INDEX quota_reservation_window ON adjourn.quota_reservation (window_start);

-- The cadence: the first start instant not yet promised. At most one row.
CREATE TABLE adjourn.quota_cadence (
    singleton  BOOLEAN     NOT NULL DEFAULT TRUE,
    next_start TIMESTAMPTZ NOT NULL,
    CONSTRAINT quota_cadence_pkey PRIMARY KEY (singleton),
    CONSTRAINT quota_cadence_singleton CHECK (singleton)
);

-- ---------------------------------------------------------------------------
-- The work
-- ---------------------------------------------------------------------------

-- Limits that submit_work must know whatever the caller's language; written by
-- `adjourn setup` from the configuration.
CREATE TABLE adjourn.setting (
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    CONSTRAINT setting_pkey PRIMARY KEY (name)
);
INSERT INTO adjourn.setting (name, value) VALUES ('payload_bytes_max', '5242880');

-- Every flow ever submitted, so that a pass can walk the flows it does not know
-- without reading the backlog of those it does.
CREATE TABLE adjourn.flow (
    name       TEXT        NOT NULL,
    first_seen TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT flow_pkey PRIMARY KEY (name),
    CONSTRAINT flow_name_accepted CHECK (name ~ '^[a-z0-9][a-z0-9_.-]{0,63}$')
);

-- Works that are not finished. Finished ones move to work_archive, so that this
-- table stays as small as the backlog.
CREATE TABLE adjourn.work (
    id                 BIGINT      NOT NULL GENERATED ALWAYS AS IDENTITY,
    flow               TEXT        NOT NULL,
    stream             TEXT        NOT NULL,
    deadline           TIMESTAMPTZ,
    idempotency_key    TEXT        NOT NULL,
    state              TEXT        NOT NULL DEFAULT 'pending',
    -- How it travels while admitted or attempting.
    lane               TEXT,
    workflow_id        TEXT,
    carried_since      TIMESTAMPTZ,
    -- Governed lane only: the window it was admitted in, and how.
    slot_start         TIMESTAMPTZ,
    admission          TEXT,
    enforced           BOOLEAN,
    -- Allocated once, after the slot; kept through retries.
    number             BIGINT,
    attempts           INTEGER     NOT NULL DEFAULT 0,
    attempt_begun_at   TIMESTAMPTZ,
    attempt_expires_at TIMESTAMPTZ,
    -- Back-off: not chosen by the governed or exempt lane before this instant.
    not_before         TIMESTAMPTZ,
    -- What the last attempt or decision came to.
    outcome            TEXT,
    reason             TEXT,
    detail             TEXT,
    created_at         TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    changed_at         TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT work_pkey PRIMARY KEY (id),
    CONSTRAINT work_state_known CHECK (
        state IN ('pending', 'admitted', 'attempting', 'failed')),
    CONSTRAINT work_lane_known CHECK (lane IN ('governed', 'override', 'exempt')),
    CONSTRAINT work_admission_known CHECK (admission IN ('granted', 'would_defer')),
    CONSTRAINT work_pending_is_free CHECK (
        state NOT IN ('pending', 'failed')
        OR (lane IS NULL AND workflow_id IS NULL AND carried_since IS NULL
            AND slot_start IS NULL AND admission IS NULL AND attempt_expires_at IS NULL)),
    CONSTRAINT work_in_flight_is_carried CHECK (
        state NOT IN ('admitted', 'attempting')
        OR (lane IS NOT NULL AND workflow_id IS NOT NULL AND carried_since IS NOT NULL)),
    CONSTRAINT work_governed_has_window CHECK (
        (lane = 'governed') IS NOT TRUE
        OR (slot_start IS NOT NULL AND admission IS NOT NULL AND enforced IS NOT NULL)),
    CONSTRAINT work_enforced_has_slot CHECK (
        (lane = 'governed' AND enforced) IS NOT TRUE OR admission = 'granted'),
    CONSTRAINT work_attempting_is_numbered CHECK (
        state <> 'attempting'
        OR (number IS NOT NULL AND attempts > 0
            AND attempt_begun_at IS NOT NULL AND attempt_expires_at IS NOT NULL)),
    CONSTRAINT work_backoff_is_pending CHECK (not_before IS NULL OR state = 'pending'),
    CONSTRAINT work_number_positive CHECK (number > 0),
    CONSTRAINT work_attempts_zero_or_positive CHECK (attempts >= 0)
);

-- Dispatch order, flow by flow: deadline ascending, none last, ties by arrival.
-- Deferral touches neither this index nor the row.
CREATE INDEX work_dispatch_order ON adjourn.work (flow, deadline, id)
    WHERE state = 'pending' AND not_before IS NULL;
CREATE INDEX work_in_back_off ON adjourn.work (not_before)
    WHERE state = 'pending' AND not_before IS NOT NULL;
CREATE INDEX work_in_flight ON adjourn.work (carried_since)
    WHERE state IN ('admitted', 'attempting');
-- What a pass looks for among works in back-off and in flight, so that its cost
-- follows what it finds: urgent ones in back-off, slots whose window is over,
-- urgent ones that stand still, attempts that are surely over.
CREATE INDEX work_urgent_in_back_off ON adjourn.work (flow, deadline, id)
    WHERE state = 'pending' AND not_before IS NOT NULL;
CREATE INDEX work_admitted ON adjourn.work (slot_start, deadline)
    WHERE state = 'admitted' AND lane = 'governed';
CREATE INDEX work_attempting ON adjourn.work (attempt_expires_at)
    WHERE state = 'attempting';
CREATE INDEX work_failed ON adjourn.work (id) WHERE state = 'failed';
CREATE UNIQUE INDEX work_number_once ON adjourn.work (stream, number)
    WHERE number IS NOT NULL;

CREATE TABLE adjourn.work_payload (
    work_id      BIGINT NOT NULL,
    content_type TEXT   NOT NULL,
    body         BYTEA  NOT NULL,
    CONSTRAINT work_payload_pkey PRIMARY KEY (work_id)
);

-- One idempotency key, one work, for as long as the work is kept.
CREATE TABLE adjourn.work_key (
    idempotency_key TEXT   NOT NULL,
    work_id         BIGINT NOT NULL,
    fingerprint     BYTEA  NOT NULL,
    CONSTRAINT work_key_pkey PRIMARY KEY (idempotency_key),
    CONSTRAINT work_key_bounded CHECK (octet_length(idempotency_key) BETWEEN 1 AND 200)
);

-- The last number of each stream. Gapless: a number is allocated in the
-- statement that begins the first attempt, and never given back.
CREATE TABLE adjourn.sequence (
    stream TEXT   NOT NULL,
    last   BIGINT NOT NULL,
    CONSTRAINT sequence_pkey PRIMARY KEY (stream),
    CONSTRAINT sequence_last_positive CHECK (last > 0)
);

-- One row per attempt that ended, by record or by recovery: the works' own
-- evidence, independent of the arbiter's counter.
CREATE TABLE adjourn.work_attempt (
    work_id      BIGINT      NOT NULL,
    attempt      INTEGER     NOT NULL,
    flow         TEXT        NOT NULL,
    lane         TEXT        NOT NULL,
    slot_start   TIMESTAMPTZ,
    admission    TEXT,
    enforced     BOOLEAN,
    stream       TEXT        NOT NULL,
    number       BIGINT      NOT NULL,
    begun_at     TIMESTAMPTZ NOT NULL,
    ended_at     TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    outcome      TEXT        NOT NULL,
    spent        BOOLEAN     NOT NULL,
    status       INTEGER,
    reference    TEXT,
    answer       TEXT,
    detail       TEXT,
    CONSTRAINT work_attempt_pkey PRIMARY KEY (work_id, attempt),
    CONSTRAINT work_attempt_outcome_known CHECK (
        outcome IN ('emitted', 'deferred', 'unsent', 'spent', 'failed'))
);
CREATE INDEX work_attempt_begun ON adjourn.work_attempt (begun_at);

-- A refused work, once per work and window. The work itself is left as it was.
CREATE TABLE adjourn.deferral (
    window_start TIMESTAMPTZ NOT NULL,
    work_id      BIGINT      NOT NULL,
    flow         TEXT        NOT NULL,
    reason       TEXT        NOT NULL,
    deferred_at  TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT deferral_pkey PRIMARY KEY (window_start, work_id)
);
CREATE INDEX deferral_work ON adjourn.deferral (work_id, window_start);

CREATE TABLE adjourn.work_archive (
    id              BIGINT      NOT NULL,
    flow            TEXT        NOT NULL,
    stream          TEXT        NOT NULL,
    deadline        TIMESTAMPTZ,
    idempotency_key TEXT        NOT NULL,
    state           TEXT        NOT NULL,
    lane            TEXT,
    workflow_id     TEXT,
    slot_start      TIMESTAMPTZ,
    admission       TEXT,
    enforced        BOOLEAN,
    number          BIGINT,
    attempts        INTEGER     NOT NULL,
    outcome         TEXT,
    reason          TEXT,
    detail          TEXT,
    status          INTEGER,
    reference       TEXT,
    answer          TEXT,
    late            BOOLEAN     NOT NULL DEFAULT FALSE,
    created_at      TIMESTAMPTZ NOT NULL,
    finished_at     TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT work_archive_pkey PRIMARY KEY (id),
    CONSTRAINT work_archive_state_known CHECK (state IN ('emitted', 'cancelled')),
    CONSTRAINT work_archive_emitted_is_numbered CHECK (
        state <> 'emitted' OR (number IS NOT NULL AND lane IS NOT NULL))
);
CREATE INDEX work_archive_finished ON adjourn.work_archive (finished_at);
CREATE UNIQUE INDEX work_archive_number_once ON adjourn.work_archive (stream, number)
    WHERE number IS NOT NULL;

-- Submits one work; callable in the caller's own transaction, from any language.
-- A repeat of an idempotency key answers with the first work and created = false;
-- the same key for other content is an error.
CREATE FUNCTION adjourn.submit_work(
    flow            TEXT,
    payload         BYTEA,
    deadline        TIMESTAMPTZ DEFAULT NULL,
    idempotency_key TEXT        DEFAULT NULL,
    stream          TEXT        DEFAULT NULL,
    content_type    TEXT        DEFAULT NULL,
    OUT work_id     BIGINT,
    OUT created     BOOLEAN
)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
    name_pattern CONSTANT TEXT := '^[a-z0-9][a-z0-9_.-]{0,63}$';
    bytes_max    BIGINT;
    the_stream   TEXT  := coalesce(submit_work.stream, submit_work.flow);
    the_type     TEXT  := coalesce(submit_work.content_type, 'application/json');
    the_key      TEXT  := coalesce(submit_work.idempotency_key, gen_random_uuid()::TEXT);
    the_print    BYTEA;
    known_print  BYTEA;
BEGIN
    IF submit_work.flow IS NULL OR submit_work.flow !~ name_pattern THEN
        RAISE EXCEPTION 'flow %: accepted are 1 to 64 of a-z, 0-9, "_", "." and "-", beginning with a letter or digit',
            coalesce(quote_literal(left(submit_work.flow, 80)), 'NULL')
            USING ERRCODE = 'invalid_parameter_value', COLUMN = 'flow';
    END IF;
    IF the_stream !~ name_pattern THEN
        RAISE EXCEPTION 'stream %: accepted are 1 to 64 of a-z, 0-9, "_", "." and "-", beginning with a letter or digit',
            quote_literal(left(the_stream, 80))
            USING ERRCODE = 'invalid_parameter_value', COLUMN = 'stream';
    END IF;
    IF submit_work.payload IS NULL THEN
        RAISE EXCEPTION 'payload NULL: accepted are bytes, empty ones too'
            USING ERRCODE = 'invalid_parameter_value', COLUMN = 'payload';
    END IF;
    SELECT s.value::BIGINT INTO bytes_max
      FROM adjourn.setting AS s WHERE s.name = 'payload_bytes_max';
    IF octet_length(submit_work.payload) > bytes_max THEN
        RAISE EXCEPTION 'payload of % bytes: accepted are at most % bytes (ADJOURN_PAYLOAD_BYTES_MAX)',
            octet_length(submit_work.payload), bytes_max
            USING ERRCODE = 'program_limit_exceeded', COLUMN = 'payload';
    END IF;
    IF octet_length(the_key) NOT BETWEEN 1 AND 200 OR the_key !~ '^[\x21-\x7e]+$' THEN
        RAISE EXCEPTION 'idempotency_key %: accepted are 1 to 200 printable ASCII characters without spaces',
            quote_literal(left(the_key, 80))
            USING ERRCODE = 'invalid_parameter_value', COLUMN = 'idempotency_key';
    END IF;
    IF length(the_type) > 200 OR the_type !~ '^[\x20-\x7e]+$' THEN
        RAISE EXCEPTION 'content_type %: accepted are 1 to 200 printable ASCII characters',
            quote_literal(left(the_type, 80))
            USING ERRCODE = 'invalid_parameter_value', COLUMN = 'content_type';
    END IF;
    IF submit_work.deadline IN ('infinity'::TIMESTAMPTZ, '-infinity'::TIMESTAMPTZ) THEN
        RAISE EXCEPTION 'deadline %: accepted are an instant, or NULL for none', submit_work.deadline
            USING ERRCODE = 'invalid_parameter_value', COLUMN = 'deadline';
    END IF;

    the_print := sha256(convert_to(submit_work.flow || chr(10) || the_stream || chr(10), 'UTF8')
                        || submit_work.payload);

    -- The key is taken first. A concurrent submission of the same key waits here
    -- for the other's end, so that exactly one of the two creates the work.
    INSERT INTO adjourn.work_key (idempotency_key, work_id, fingerprint)
    VALUES (the_key, nextval(pg_get_serial_sequence('adjourn.work', 'id')), the_print)
    ON CONFLICT (idempotency_key) DO NOTHING
    RETURNING work_key.work_id INTO work_id;

    IF work_id IS NULL THEN
        SELECT k.work_id, k.fingerprint INTO work_id, known_print
          FROM adjourn.work_key AS k WHERE k.idempotency_key = the_key;
        IF known_print IS DISTINCT FROM the_print THEN
            RAISE EXCEPTION 'idempotency_key %: already used by work % for another flow, stream or payload',
                quote_literal(left(the_key, 80)), work_id
                USING ERRCODE = 'unique_violation', COLUMN = 'idempotency_key';
        END IF;
        created := FALSE;
        RETURN;
    END IF;

    IF NOT EXISTS (SELECT FROM adjourn.flow AS f WHERE f.name = submit_work.flow) THEN
        INSERT INTO adjourn.flow (name) VALUES (submit_work.flow)
        ON CONFLICT (name) DO NOTHING;
    END IF;
    INSERT INTO adjourn.work (id, flow, stream, deadline, idempotency_key)
    OVERRIDING SYSTEM VALUE
    VALUES (work_id, submit_work.flow, the_stream, submit_work.deadline, the_key);
    INSERT INTO adjourn.work_payload (work_id, content_type, body)
    VALUES (work_id, the_type, submit_work.payload);
    created := TRUE;
END
$$;

-- Every work, finished or not, as one relation for people and reports.
CREATE VIEW adjourn.work_all AS
SELECT id, flow, stream, deadline, idempotency_key, state, lane, workflow_id,
       slot_start, admission, enforced, number, attempts, not_before, carried_since,
       attempt_begun_at, attempt_expires_at, outcome, reason, detail,
       NULL::INTEGER AS status, NULL::TEXT AS reference, NULL::TEXT AS answer,
       NULL::BOOLEAN AS late, created_at, NULL::TIMESTAMPTZ AS finished_at
  FROM adjourn.work
UNION ALL
SELECT id, flow, stream, deadline, idempotency_key, state, lane, workflow_id,
       slot_start, admission, enforced, number, attempts, NULL, NULL,
       NULL, NULL, outcome, reason, detail,
       status, reference, answer, late, created_at, finished_at
  FROM adjourn.work_archive;
