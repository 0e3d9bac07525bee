-- What PostgreSQL does by itself in the tables of `site_store/tables/`: it counts statuses, lists what is in trouble, and
-- notes which trees have changed. The first migration makes the tables, then carries out this file.
--
-- How a status is counted
-- -----------------------
-- `status_count` has a number of rows (`records`) for each cell: action_id, site, group_name, phase, owner, status and
-- serves.
--
-- * Of an action, each row of `task` counts: once in the group '', which is the whole, and once in each group that its
--   node is in (`group_node`). `phase` and `status` are the task's, and `serves` is ''.
-- * Of a site (action_id ''), each row of `node` counts that is wanted, was done or has a status: once in the group '',
--   and once in each group of the design that it is in (`site_group_node`). `status` is the node's `standing`. `phase`
--   says where it stands: 'grouped', 'no group', or 'to be removed' (it left the design). `serves` is the node's: what
--   it serves, nothing, an older revision or the wanted one.
--
-- A cell's number is the sum of its parts. A transaction writes a part of its own, so that no two ever wait for each
-- other. `status/counting.py` adds up the parts of transactions that are over, and compares all counts with the rows.
--
-- A statement may move many rows: a trigger sees them all at once (`old_rows`, `new_rows`). Its queries are texts, which
-- are planned each time, for as many rows as there are. Up to 2,000 are looked up one by one, by index: the planner
-- does not know how few the rows of a transition table are.
--
-- One transaction may put a node into a group while another changes the node. So the first takes the lock "groups of …"
-- alone, the second shares it, and the first locks the rows that it counts, in one order.

-- What has changed: a row of the phase ~touch, in the part of the transaction. A tree is read again where one is new.

CREATE FUNCTION slipway_touch(the_action text, the_site text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
    SELECT the_action, the_site, '', '~touch', '', '', '', pg_current_xact_id()::text::bigint, 1
    WHERE the_action IS NOT NULL AND the_site IS NOT NULL
    ON CONFLICT DO NOTHING
$$;

CREATE FUNCTION slipway_touch_action() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM status_count WHERE action_id = OLD.id;
    ELSE
        PERFORM slipway_touch(NEW.id, NEW.site);
    END IF;
    PERFORM slipway_touch('', coalesce(NEW.site, OLD.site));
    RETURN NULL;
END
$$;
CREATE TRIGGER touch_action AFTER INSERT OR DELETE OR UPDATE ON action
    FOR EACH ROW EXECUTE FUNCTION slipway_touch_action();

CREATE FUNCTION slipway_touch_action_row() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    the_site text;
BEGIN
    the_site := (SELECT site FROM action WHERE id = coalesce(NEW.action_id, OLD.action_id));
    PERFORM slipway_touch(coalesce(NEW.action_id, OLD.action_id), the_site), slipway_touch('', the_site);
    RETURN NULL;
END
$$;
CREATE TRIGGER touch_action_report AFTER INSERT OR DELETE OR UPDATE ON action_report
    FOR EACH ROW EXECUTE FUNCTION slipway_touch_action_row();
CREATE TRIGGER touch_action_step AFTER INSERT OR DELETE OR UPDATE ON action_step
    FOR EACH ROW EXECUTE FUNCTION slipway_touch_action_row();
CREATE TRIGGER touch_approval AFTER INSERT OR DELETE OR UPDATE ON approval
    FOR EACH ROW EXECUTE FUNCTION slipway_touch_action_row();
CREATE TRIGGER touch_group_run AFTER INSERT OR DELETE OR UPDATE ON group_run
    FOR EACH ROW EXECUTE FUNCTION slipway_touch_action_row();
CREATE TRIGGER touch_operation
    AFTER INSERT OR DELETE OR UPDATE OF provisioner_task, running_since, ended, over, status, result ON operation
    FOR EACH ROW EXECUTE FUNCTION slipway_touch_action_row();

CREATE FUNCTION slipway_touch_reported() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM slipway_touch(nullif(coalesce(NEW.action_id, OLD.action_id), ''), coalesce(NEW.site, OLD.site)),
        slipway_touch('', coalesce(NEW.site, OLD.site));
    RETURN NULL;
END
$$;
CREATE TRIGGER touch_reported AFTER INSERT OR DELETE OR UPDATE ON reported
    FOR EACH ROW EXECUTE FUNCTION slipway_touch_reported();

CREATE FUNCTION slipway_touch_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM slipway_touch('', NEW.site);
    RETURN NULL;
END
$$;
CREATE TRIGGER touch_revision AFTER INSERT ON revision FOR EACH ROW EXECUTE FUNCTION slipway_touch_revision();

-- The counts of an action: its tasks, in the groups of their nodes.

CREATE FUNCTION slipway_count_task_insert() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    enable_hashjoin_was text := current_setting('enable_hashjoin');
    enable_mergejoin_was text := current_setting('enable_mergejoin');
BEGIN
    IF NOT EXISTS (SELECT 1 FROM new_rows) THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('slipway: groups of action_id ' || scope, 0))
    FROM (SELECT DISTINCT action_id AS scope FROM new_rows ORDER BY 1) scopes;
    IF NOT EXISTS (SELECT 1 FROM new_rows OFFSET 2000) THEN
        PERFORM set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
    END IF;
    EXECUTE $q$
        INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
        SELECT action_id, site, group_name, phase, owner, status, serves, pg_current_xact_id()::text::bigint, sum(n)
        FROM (
            SELECT t.action_id AS action_id, a.site AS site, '' AS group_name, t.phase AS phase,
                coalesce(t.owner, '') AS owner, t.status AS status, '' AS serves, t.n AS n
            FROM (SELECT *, 1 AS n FROM new_rows) t
            JOIN action a ON a.id = t.action_id
            UNION ALL
            SELECT t.action_id AS action_id, a.site AS site, g.group_name AS group_name, t.phase AS phase,
                coalesce(t.owner, '') AS owner, t.status AS status, '' AS serves, t.n AS n
            FROM (SELECT *, 1 AS n FROM new_rows) t
            JOIN action a ON a.id = t.action_id
            JOIN group_node g ON g.action_id = t.action_id AND g.node = t.node
        ) cells
        GROUP BY action_id, site, group_name, phase, owner, status, serves
        HAVING sum(n) <> 0
        ON CONFLICT (action_id, site, group_name, phase, owner, status, serves, part)
        DO UPDATE SET records = status_count.records + excluded.records
    $q$;
    PERFORM set_config('enable_hashjoin', enable_hashjoin_was, true),
        set_config('enable_mergejoin', enable_mergejoin_was, true);
    PERFORM slipway_touch(action_id, site)
    FROM (
        SELECT DISTINCT t.action_id, a.site
        FROM new_rows t
        JOIN action a ON a.id = t.action_id
    ) its;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_task_insert AFTER INSERT ON task
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_task_insert();

CREATE FUNCTION slipway_count_task_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM new_rows) THEN
        RETURN NULL;
    END IF;
    EXECUTE $q$
        INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
        SELECT action_id, site, group_name, phase, owner, status, serves, pg_current_xact_id()::text::bigint, sum(n)
        FROM (
            SELECT k.action_id AS action_id, a.site AS site, place.name AS group_name, k.phase AS phase,
                coalesce(t.owner, '') AS owner, t.status AS status, '' AS serves, t.n AS n
            FROM (
                SELECT o.action_id, o.phase, o.owner AS owner_was, o.status AS status_was, n.owner, n.status, ARRAY(
                    SELECT m.group_name
                    FROM group_node m
                    WHERE m.action_id = o.action_id AND m.node = o.node
                ) AS names, count(*) AS n
                FROM old_rows o
                JOIN new_rows n ON n.action_id = o.action_id AND n.node = o.node AND n.phase = o.phase
                    AND (n.status, n.owner) IS DISTINCT FROM (o.status, o.owner)
                GROUP BY 1, 2, 3, 4, 5, 6, 7
            ) k
            JOIN action a ON a.id = k.action_id
            CROSS JOIN LATERAL (VALUES (k.owner_was, k.status_was, -k.n), (k.owner, k.status, k.n)) t(owner, status, n)
            CROSS JOIN LATERAL unnest(array_prepend('', k.names::text[])) place(name)
        ) cells
        GROUP BY action_id, site, group_name, phase, owner, status, serves
        HAVING sum(n) <> 0
        ON CONFLICT (action_id, site, group_name, phase, owner, status, serves, part)
        DO UPDATE SET records = status_count.records + excluded.records
    $q$;
    PERFORM slipway_touch(action_id, site)
    FROM (
        SELECT DISTINCT t.action_id, a.site
        FROM new_rows t
        JOIN action a ON a.id = t.action_id
    ) its;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_task_update AFTER UPDATE ON task
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_task_update();

CREATE FUNCTION slipway_count_task_delete() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    enable_hashjoin_was text := current_setting('enable_hashjoin');
    enable_mergejoin_was text := current_setting('enable_mergejoin');
BEGIN
    IF NOT EXISTS (SELECT 1 FROM old_rows) THEN
        RETURN NULL;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM old_rows OFFSET 2000) THEN
        PERFORM set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
    END IF;
    EXECUTE $q$
        INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
        SELECT action_id, site, group_name, phase, owner, status, serves, pg_current_xact_id()::text::bigint, sum(n)
        FROM (
            SELECT t.action_id AS action_id, a.site AS site, '' AS group_name, t.phase AS phase,
                coalesce(t.owner, '') AS owner, t.status AS status, '' AS serves, t.n AS n
            FROM (SELECT *, -1 AS n FROM old_rows) t
            JOIN action a ON a.id = t.action_id
            UNION ALL
            SELECT t.action_id AS action_id, a.site AS site, g.group_name AS group_name, t.phase AS phase,
                coalesce(t.owner, '') AS owner, t.status AS status, '' AS serves, t.n AS n
            FROM (SELECT *, -1 AS n FROM old_rows) t
            JOIN action a ON a.id = t.action_id
            JOIN group_node g ON g.action_id = t.action_id AND g.node = t.node
        ) cells
        GROUP BY action_id, site, group_name, phase, owner, status, serves
        HAVING sum(n) <> 0
        ON CONFLICT (action_id, site, group_name, phase, owner, status, serves, part)
        DO UPDATE SET records = status_count.records + excluded.records
    $q$;
    PERFORM set_config('enable_hashjoin', enable_hashjoin_was, true),
        set_config('enable_mergejoin', enable_mergejoin_was, true);
    PERFORM slipway_touch(action_id, site)
    FROM (
        SELECT DISTINCT t.action_id, a.site
        FROM old_rows t
        JOIN action a ON a.id = t.action_id
    ) its;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_task_delete AFTER DELETE ON task
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_task_delete();

CREATE FUNCTION slipway_count_group_node_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM new_rows) THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('slipway: groups of action_id ' || scope, 0))
    FROM (SELECT DISTINCT action_id AS scope FROM new_rows ORDER BY 1) scopes;
    EXECUTE $q$
        SELECT 1
        FROM task t
        WHERE EXISTS (SELECT 1 FROM new_rows g WHERE g.action_id = t.action_id AND g.node = t.node)
        ORDER BY t.action_id, t.node, t.phase FOR UPDATE
    $q$;
    EXECUTE $q$
        INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
        SELECT action_id, site, group_name, phase, owner, status, serves, pg_current_xact_id()::text::bigint, sum(n)
        FROM (
            SELECT t.action_id AS action_id, a.site AS site, g.group_name AS group_name, t.phase AS phase,
                coalesce(t.owner, '') AS owner, t.status AS status, '' AS serves, 1 AS n
            FROM task t
            JOIN action a ON a.id = t.action_id
            JOIN new_rows g ON g.action_id = t.action_id AND g.node = t.node
        ) cells
        GROUP BY action_id, site, group_name, phase, owner, status, serves
        HAVING sum(n) <> 0
        ON CONFLICT (action_id, site, group_name, phase, owner, status, serves, part)
        DO UPDATE SET records = status_count.records + excluded.records
    $q$;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_group_node_insert AFTER INSERT ON group_node
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_group_node_insert();

CREATE FUNCTION slipway_count_group_node_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM old_rows) THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('slipway: groups of action_id ' || scope, 0))
    FROM (SELECT DISTINCT action_id AS scope FROM old_rows ORDER BY 1) scopes;
    EXECUTE $q$
        SELECT 1
        FROM task t
        WHERE EXISTS (SELECT 1 FROM old_rows g WHERE g.action_id = t.action_id AND g.node = t.node)
        ORDER BY t.action_id, t.node, t.phase FOR UPDATE
    $q$;
    EXECUTE $q$
        INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
        SELECT action_id, site, group_name, phase, owner, status, serves, pg_current_xact_id()::text::bigint, sum(n)
        FROM (
            SELECT t.action_id AS action_id, a.site AS site, g.group_name AS group_name, t.phase AS phase,
                coalesce(t.owner, '') AS owner, t.status AS status, '' AS serves, -1 AS n
            FROM task t
            JOIN action a ON a.id = t.action_id
            JOIN old_rows g ON g.action_id = t.action_id AND g.node = t.node
        ) cells
        GROUP BY action_id, site, group_name, phase, owner, status, serves
        HAVING sum(n) <> 0
        ON CONFLICT (action_id, site, group_name, phase, owner, status, serves, part)
        DO UPDATE SET records = status_count.records + excluded.records
    $q$;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_group_node_delete AFTER DELETE ON group_node
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_group_node_delete();

-- The counts of a site: its nodes, in the groups of the newest design.

CREATE FUNCTION slipway_count_node_insert() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    enable_hashjoin_was text := current_setting('enable_hashjoin');
    enable_mergejoin_was text := current_setting('enable_mergejoin');
BEGIN
    IF NOT EXISTS (SELECT 1 FROM new_rows) THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('slipway: groups of site ' || scope, 0))
    FROM (SELECT DISTINCT site AS scope FROM new_rows ORDER BY 1) scopes;
    IF NOT EXISTS (SELECT 1 FROM new_rows OFFSET 2000) THEN
        PERFORM set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
    END IF;
    EXECUTE $q$
        INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
        SELECT action_id, site, group_name, phase, owner, status, serves, pg_current_xact_id()::text::bigint, sum(n)
        FROM (
            SELECT '' AS action_id, t.site AS site, '' AS group_name,
                CASE
                    WHEN t.wanted_digest IS NULL THEN 'to be removed'
                    WHEN EXISTS (SELECT 1 FROM site_group_node m WHERE m.site = t.site AND m.node = t.name)
                        THEN 'grouped'
                    ELSE 'no group'
                END AS phase,
                coalesce(t.owner, '') AS owner, t.standing AS status,
                t.serves AS serves,
                t.n AS n
            FROM (SELECT *, 1 AS n FROM new_rows) t
            WHERE (t.wanted_digest IS NOT NULL OR t.done_digest IS NOT NULL OR t.status IS NOT NULL)
            UNION ALL
            SELECT '' AS action_id, t.site AS site, g.group_name AS group_name, 'grouped' AS phase,
                coalesce(t.owner, '') AS owner, t.standing AS status,
                t.serves AS serves,
                t.n AS n
            FROM (SELECT *, 1 AS n FROM new_rows) t
            JOIN site_group_node g ON g.site = t.site AND g.node = t.name
            WHERE (t.wanted_digest IS NOT NULL OR t.done_digest IS NOT NULL OR t.status IS NOT NULL)
        ) cells
        GROUP BY action_id, site, group_name, phase, owner, status, serves
        HAVING sum(n) <> 0
        ON CONFLICT (action_id, site, group_name, phase, owner, status, serves, part)
        DO UPDATE SET records = status_count.records + excluded.records
    $q$;
    PERFORM set_config('enable_hashjoin', enable_hashjoin_was, true),
        set_config('enable_mergejoin', enable_mergejoin_was, true);
    PERFORM slipway_touch('', site) FROM (SELECT DISTINCT site FROM new_rows) its;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_node_insert AFTER INSERT ON node
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_node_insert();

CREATE FUNCTION slipway_count_node_update() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    moved bigint;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM new_rows) THEN
        RETURN NULL;
    END IF;
    EXECUTE $q$
        INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
        SELECT action_id, site, group_name, phase, owner, status, serves, pg_current_xact_id()::text::bigint, sum(n)
        FROM (
            SELECT '' AS action_id, k.site AS site, place.name AS group_name,
                CASE
                    WHEN place.name <> '' THEN 'grouped'
                    WHEN t.gone THEN 'to be removed'
                    WHEN cardinality(k.names) > 0 THEN 'grouped'
                    ELSE 'no group'
                END AS phase,
                coalesce(t.owner, '') AS owner, t.standing AS status, t.serves AS serves, t.n AS n
            FROM (
                SELECT o.site,
                    o.standing, o.owner, o.wanted_digest IS NULL,
                    o.serves,
                    (o.wanted_digest IS NOT NULL OR o.done_digest IS NOT NULL OR o.status IS NOT NULL),
                    n.standing, n.owner, n.wanted_digest IS NULL,
                    n.serves,
                    (n.wanted_digest IS NOT NULL OR n.done_digest IS NOT NULL OR n.status IS NOT NULL),
                    ARRAY(
                        SELECT m.group_name FROM site_group_node m WHERE m.site = o.site AND m.node = o.name
                    ) AS names,
                    count(*)
                FROM old_rows o
                JOIN new_rows n ON n.site = o.site AND n.name = o.name
                    AND (n.standing, n.serves, n.owner, n.status, n.wanted_digest, n.done_digest)
                        IS DISTINCT FROM (o.standing, o.serves, o.owner, o.status, o.wanted_digest, o.done_digest)
                GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
            ) k(site, standing_was, owner_was, gone_was, serves_was, counted_was, standing_is, owner_is, gone_is,
                serves_is, counted_is, names, n)
            CROSS JOIN LATERAL (
                VALUES
                    (k.standing_was, k.owner_was, k.gone_was, k.serves_was, k.counted_was, -k.n),
                    (k.standing_is, k.owner_is, k.gone_is, k.serves_is, k.counted_is, k.n)
            ) t(standing, owner, gone, serves, counted, n)
            CROSS JOIN LATERAL unnest(array_prepend('', k.names::text[])) place(name)
            WHERE t.counted
        ) cells
        GROUP BY action_id, site, group_name, phase, owner, status, serves
        HAVING sum(n) <> 0
        ON CONFLICT (action_id, site, group_name, phase, owner, status, serves, part)
        DO UPDATE SET records = status_count.records + excluded.records
    $q$;
    GET DIAGNOSTICS moved = ROW_COUNT;
    IF moved > 0 THEN
        PERFORM slipway_touch('', its.site) FROM (SELECT DISTINCT site FROM new_rows) its;
    ELSE
        EXECUTE $q$
            SELECT slipway_touch('', its.site)
            FROM (
                SELECT o.site
                FROM old_rows o
                JOIN new_rows n ON n.site = o.site AND n.name = o.name
                    AND (
                        o.standing, o.status, o.error, o.error_revision, o.error_action,
                        o.fixed, o.last_updated, o.wanted_revision, o.wanted_digest,
                        o.done_revision, o.done_digest, o.doubt, o.rack, o.provisioner_status,
                        o.power, o.owner, o.wanted_version, o.touched, o.done_version,
                        o.error_version, o.failures, o.next_try
                    ) IS DISTINCT FROM (
                        n.standing, n.status, n.error, n.error_revision, n.error_action,
                        n.fixed, n.last_updated, n.wanted_revision, n.wanted_digest,
                        n.done_revision, n.done_digest, n.doubt, n.rack, n.provisioner_status,
                        n.power, n.owner, n.wanted_version, n.touched, n.done_version,
                        n.error_version, n.failures, n.next_try
                    )
                GROUP BY o.site
            ) its
        $q$;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_node_update AFTER UPDATE ON node
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_node_update();

CREATE FUNCTION slipway_count_node_delete() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    enable_hashjoin_was text := current_setting('enable_hashjoin');
    enable_mergejoin_was text := current_setting('enable_mergejoin');
BEGIN
    IF NOT EXISTS (SELECT 1 FROM old_rows) THEN
        RETURN NULL;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM old_rows OFFSET 2000) THEN
        PERFORM set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
    END IF;
    EXECUTE $q$
        INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
        SELECT action_id, site, group_name, phase, owner, status, serves, pg_current_xact_id()::text::bigint, sum(n)
        FROM (
            SELECT '' AS action_id, t.site AS site, '' AS group_name,
                CASE
                    WHEN t.wanted_digest IS NULL THEN 'to be removed'
                    WHEN EXISTS (SELECT 1 FROM site_group_node m WHERE m.site = t.site AND m.node = t.name)
                        THEN 'grouped'
                    ELSE 'no group'
                END AS phase,
                coalesce(t.owner, '') AS owner, t.standing AS status,
                t.serves AS serves,
                t.n AS n
            FROM (SELECT *, -1 AS n FROM old_rows) t
            WHERE (t.wanted_digest IS NOT NULL OR t.done_digest IS NOT NULL OR t.status IS NOT NULL)
            UNION ALL
            SELECT '' AS action_id, t.site AS site, g.group_name AS group_name, 'grouped' AS phase,
                coalesce(t.owner, '') AS owner, t.standing AS status,
                t.serves AS serves,
                t.n AS n
            FROM (SELECT *, -1 AS n FROM old_rows) t
            JOIN site_group_node g ON g.site = t.site AND g.node = t.name
            WHERE (t.wanted_digest IS NOT NULL OR t.done_digest IS NOT NULL OR t.status IS NOT NULL)
        ) cells
        GROUP BY action_id, site, group_name, phase, owner, status, serves
        HAVING sum(n) <> 0
        ON CONFLICT (action_id, site, group_name, phase, owner, status, serves, part)
        DO UPDATE SET records = status_count.records + excluded.records
    $q$;
    PERFORM set_config('enable_hashjoin', enable_hashjoin_was, true),
        set_config('enable_mergejoin', enable_mergejoin_was, true);
    PERFORM slipway_touch('', site) FROM (SELECT DISTINCT site FROM old_rows) its;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_node_delete AFTER DELETE ON node
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_node_delete();

CREATE FUNCTION slipway_count_site_group_node_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM new_rows) THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('slipway: groups of site ' || scope, 0))
    FROM (SELECT DISTINCT site AS scope FROM new_rows ORDER BY 1) scopes;
    EXECUTE $q$
        SELECT 1
        FROM node t
        WHERE EXISTS (SELECT 1 FROM new_rows g WHERE g.site = t.site AND g.node = t.name)
        ORDER BY t.site, t.name COLLATE "C" FOR UPDATE
    $q$;
    EXECUTE $q$
        INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
        SELECT action_id, site, group_name, phase, owner, status, serves, pg_current_xact_id()::text::bigint, sum(n)
        FROM (
            SELECT '' AS action_id, t.site AS site, g.group_name AS group_name, 'grouped' AS phase,
                coalesce(t.owner, '') AS owner, t.standing AS status,
                t.serves AS serves, 1 AS n
            FROM node t
            JOIN new_rows g ON g.site = t.site AND g.node = t.name
            WHERE (t.wanted_digest IS NOT NULL OR t.done_digest IS NOT NULL OR t.status IS NOT NULL)
            UNION ALL
            SELECT '' AS action_id, t.site AS site, '' AS group_name, 'grouped' AS phase,
                coalesce(t.owner, '') AS owner, t.standing AS status,
                t.serves AS serves, 1 AS n
            FROM node t
            WHERE (t.wanted_digest IS NOT NULL OR t.done_digest IS NOT NULL OR t.status IS NOT NULL)
                AND t.wanted_digest IS NOT NULL
                AND (t.site, t.name) IN (
                    SELECT m.site, m.node
                    FROM site_group_node m
                    LEFT JOIN new_rows r ON r.site = m.site AND r.group_name = m.group_name AND r.node = m.node
                    WHERE (m.site, m.node) IN (SELECT site, node FROM new_rows)
                    GROUP BY m.site, m.node
                    HAVING count(r.node) = count(*)
                )
            UNION ALL
            SELECT '' AS action_id, t.site AS site, '' AS group_name, 'no group' AS phase,
                coalesce(t.owner, '') AS owner, t.standing AS status,
                t.serves AS serves,
                -1 AS n
            FROM node t
            WHERE (t.wanted_digest IS NOT NULL OR t.done_digest IS NOT NULL OR t.status IS NOT NULL)
                AND t.wanted_digest IS NOT NULL
                AND (t.site, t.name) IN (
                    SELECT m.site, m.node
                    FROM site_group_node m
                    LEFT JOIN new_rows r ON r.site = m.site AND r.group_name = m.group_name AND r.node = m.node
                    WHERE (m.site, m.node) IN (SELECT site, node FROM new_rows)
                    GROUP BY m.site, m.node
                    HAVING count(r.node) = count(*)
                )
        ) cells
        GROUP BY action_id, site, group_name, phase, owner, status, serves
        HAVING sum(n) <> 0
        ON CONFLICT (action_id, site, group_name, phase, owner, status, serves, part)
        DO UPDATE SET records = status_count.records + excluded.records
    $q$;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_site_group_node_insert AFTER INSERT ON site_group_node
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_site_group_node_insert();

CREATE FUNCTION slipway_count_site_group_node_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM old_rows) THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('slipway: groups of site ' || scope, 0))
    FROM (SELECT DISTINCT site AS scope FROM old_rows ORDER BY 1) scopes;
    EXECUTE $q$
        SELECT 1
        FROM node t
        WHERE EXISTS (SELECT 1 FROM old_rows g WHERE g.site = t.site AND g.node = t.name)
        ORDER BY t.site, t.name COLLATE "C" FOR UPDATE
    $q$;
    EXECUTE $q$
        INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
        SELECT action_id, site, group_name, phase, owner, status, serves, pg_current_xact_id()::text::bigint, sum(n)
        FROM (
            SELECT '' AS action_id, t.site AS site, g.group_name AS group_name, 'grouped' AS phase,
                coalesce(t.owner, '') AS owner, t.standing AS status,
                t.serves AS serves,
                -1 AS n
            FROM node t
            JOIN old_rows g ON g.site = t.site AND g.node = t.name
            WHERE (t.wanted_digest IS NOT NULL OR t.done_digest IS NOT NULL OR t.status IS NOT NULL)
            UNION ALL
            SELECT '' AS action_id, t.site AS site, '' AS group_name, 'grouped' AS phase,
                coalesce(t.owner, '') AS owner, t.standing AS status,
                t.serves AS serves,
                -1 AS n
            FROM node t
            WHERE (t.wanted_digest IS NOT NULL OR t.done_digest IS NOT NULL OR t.status IS NOT NULL)
                AND t.wanted_digest IS NOT NULL
                AND EXISTS (SELECT 1 FROM old_rows g WHERE g.site = t.site AND g.node = t.name)
                AND NOT EXISTS (SELECT 1 FROM site_group_node m WHERE m.site = t.site AND m.node = t.name)
            UNION ALL
            SELECT '' AS action_id, t.site AS site, '' AS group_name, 'no group' AS phase,
                coalesce(t.owner, '') AS owner, t.standing AS status,
                t.serves AS serves, 1 AS n
            FROM node t
            WHERE (t.wanted_digest IS NOT NULL OR t.done_digest IS NOT NULL OR t.status IS NOT NULL)
                AND t.wanted_digest IS NOT NULL
                AND EXISTS (SELECT 1 FROM old_rows g WHERE g.site = t.site AND g.node = t.name)
                AND NOT EXISTS (SELECT 1 FROM site_group_node m WHERE m.site = t.site AND m.node = t.name)
        ) cells
        GROUP BY action_id, site, group_name, phase, owner, status, serves
        HAVING sum(n) <> 0
        ON CONFLICT (action_id, site, group_name, phase, owner, status, serves, part)
        DO UPDATE SET records = status_count.records + excluded.records
    $q$;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_site_group_node_delete AFTER DELETE ON site_group_node
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_site_group_node_delete();

-- What is in trouble, found by group without an index that each result would change: nodes (site_trouble) and tasks
-- (task_trouble).

CREATE FUNCTION slipway_trouble_node_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM new_rows WHERE standing IN ('error', 'undefined')) THEN
        EXECUTE $q$
            INSERT INTO site_trouble (site, group_name, standing, node, error)
            SELECT m.site, m.group_name, n.standing, m.node, n.error
            FROM new_rows n
            JOIN site_group_node m ON m.site = n.site AND m.node = n.name
            WHERE n.standing IN ('error', 'undefined')
            ON CONFLICT DO NOTHING
        $q$;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER trouble_node_insert AFTER INSERT ON node
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_node_insert();

CREATE FUNCTION slipway_trouble_node_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM old_rows WHERE standing IN ('error', 'undefined')) THEN
        EXECUTE $q$
            DELETE FROM site_trouble t
            USING (
                SELECT a. *
                FROM old_rows a
                JOIN new_rows b ON b.site = a.site AND b.name = a.name
                    AND (b.standing <> a.standing OR b.error IS DISTINCT FROM a.error)
            ) o
            JOIN site_group_node m ON m.site = o.site AND m.node = o.name
            WHERE o.standing IN ('error', 'undefined') AND t.site = m.site AND t.group_name = m.group_name
                AND t.standing = o.standing AND t.node = m.node
        $q$;
    END IF;
    IF EXISTS (SELECT 1 FROM new_rows WHERE standing IN ('error', 'undefined')) THEN
        EXECUTE $q$
            INSERT INTO site_trouble (site, group_name, standing, node, error)
            SELECT m.site, m.group_name, n.standing, m.node, n.error
            FROM (
                SELECT a. *
                FROM new_rows a
                JOIN old_rows b ON b.site = a.site AND b.name = a.name
                    AND (b.standing <> a.standing OR b.error IS DISTINCT FROM a.error)
            ) n
            JOIN site_group_node m ON m.site = n.site AND m.node = n.name
            WHERE n.standing IN ('error', 'undefined')
            ON CONFLICT DO NOTHING
        $q$;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER trouble_node_update AFTER UPDATE ON node
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_node_update();

CREATE FUNCTION slipway_trouble_node_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM old_rows WHERE standing IN ('error', 'undefined')) THEN
        EXECUTE $q$
            DELETE FROM site_trouble t
            USING old_rows o
            JOIN site_group_node m ON m.site = o.site AND m.node = o.name
            WHERE o.standing IN ('error', 'undefined') AND t.site = m.site AND t.group_name = m.group_name
                AND t.standing = o.standing AND t.node = m.node
        $q$;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER trouble_node_delete AFTER DELETE ON node
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_node_delete();

CREATE FUNCTION slipway_trouble_site_group_node_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE $q$
        INSERT INTO site_trouble (site, group_name, standing, node, error)
        SELECT m.site, m.group_name, n.standing, m.node, n.error
        FROM new_rows m
        JOIN node n ON n.site = m.site AND n.name = m.node
        WHERE n.standing IN ('error', 'undefined')
        ON CONFLICT DO NOTHING
    $q$;
    RETURN NULL;
END
$$;
CREATE TRIGGER trouble_site_group_node_insert AFTER INSERT ON site_group_node
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_site_group_node_insert();

CREATE FUNCTION slipway_trouble_site_group_node_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE $q$
        DELETE FROM site_trouble t
        USING old_rows m
        WHERE t.site = m.site AND t.group_name = m.group_name AND t.standing IN ('error', 'undefined')
            AND t.node = m.node
    $q$;
    RETURN NULL;
END
$$;
CREATE TRIGGER trouble_site_group_node_delete AFTER DELETE ON site_group_node
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_site_group_node_delete();

CREATE FUNCTION slipway_trouble_task_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM new_rows WHERE status IN ('error', 'unknown')) THEN
        EXECUTE $q$
            INSERT INTO task_trouble (action_id, owner_group, node, phase, status)
            SELECT n.action_id, coalesce(n.owner_group, ''), n.node, n.phase, n.status
            FROM new_rows n
            WHERE n.status IN ('error', 'unknown')
            ON CONFLICT DO NOTHING
        $q$;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER trouble_task_insert AFTER INSERT ON task
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_task_insert();

CREATE FUNCTION slipway_trouble_task_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM old_rows WHERE status IN ('error', 'unknown')) THEN
        EXECUTE $q$
            DELETE FROM task_trouble t
            USING old_rows o
            JOIN new_rows n ON n.action_id = o.action_id AND n.node = o.node AND n.phase = o.phase
                AND (n.status <> o.status OR coalesce(n.owner_group, '') <> coalesce(o.owner_group, ''))
            WHERE o.status IN ('error', 'unknown') AND t.owner_group = coalesce(o.owner_group, '')
                AND t.action_id = o.action_id AND t.node = o.node AND t.phase = o.phase
        $q$;
    END IF;
    IF EXISTS (SELECT 1 FROM new_rows WHERE status IN ('error', 'unknown')) THEN
        EXECUTE $q$
            INSERT INTO task_trouble (action_id, owner_group, node, phase, status)
            SELECT n.action_id, coalesce(n.owner_group, ''), n.node, n.phase, n.status
            FROM old_rows o
            JOIN new_rows n ON n.action_id = o.action_id AND n.node = o.node AND n.phase = o.phase
                AND (n.status <> o.status OR coalesce(n.owner_group, '') <> coalesce(o.owner_group, ''))
            WHERE n.status IN ('error', 'unknown')
            ON CONFLICT DO NOTHING
        $q$;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER trouble_task_update AFTER UPDATE ON task
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_task_update();

CREATE FUNCTION slipway_trouble_task_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM old_rows WHERE status IN ('error', 'unknown')) THEN
        EXECUTE $q$
            DELETE FROM task_trouble t
            USING old_rows o
            WHERE o.status IN ('error', 'unknown') AND t.owner_group = coalesce(o.owner_group, '')
                AND t.action_id = o.action_id AND t.node = o.node AND t.phase = o.phase
        $q$;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER trouble_task_delete AFTER DELETE ON task
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_task_delete();

-- Each result changes a row of `task`: free room on its page keeps that from touching indexes. The counts are few and
-- change all the time: they are cleaned after so many changes, however many rows there are.
ALTER TABLE task SET (fillfactor = 60);
ALTER TABLE status_count SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000);
