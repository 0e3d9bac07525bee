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
-- A statement may move many rows: a trigger sees them all at once, as `changed`, and what they were before an update as
-- `before`. Its queries are texts, which are planned each time, for as many rows as there are. Groups are looked up row
-- by row, by index: the planner does not know how few the rows of a transition table are.
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

-- What adds cells to the counts: (action_id, site, group_name, phase, owner, status, serves, n), as a query gives them.
CREATE FUNCTION slipway_counted(cells text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format($q$
        INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
        SELECT action_id, site, group_name, phase, owner, status, serves, pg_current_xact_id()::text::bigint, sum(n)
        FROM (%s) cells(action_id, site, group_name, phase, owner, status, serves, n)
        GROUP BY action_id, site, group_name, phase, owner, status, serves
        HAVING sum(n) <> 0
        ON CONFLICT (action_id, site, group_name, phase, owner, status, serves, part)
        DO UPDATE SET records = status_count.records + excluded.records
    $q$, cells)
$$;

-- The counts of an action: its tasks, in the groups of their nodes.

CREATE FUNCTION slipway_count_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM changed) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' THEN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('slipway: groups of action_id ' || scope, 0))
        FROM (SELECT DISTINCT action_id AS scope FROM changed ORDER BY 1) scopes;
    END IF;
    EXECUTE slipway_counted(format($q$
        SELECT k.action_id, a.site, place.name, k.phase, coalesce(t.owner, ''), t.status, '', t.n
        FROM (
            SELECT c.action_id, c.phase, %s, %s,
                ARRAY(SELECT m.group_name FROM group_node m WHERE m.action_id = c.action_id AND m.node = c.node),
                count(*)
            FROM changed c %s
            GROUP BY 1, 2, 3, 4, 5, 6, 7
        ) k(action_id, phase, owner_was, status_was, owner_is, status_is, names, n)
        JOIN action a ON a.id = k.action_id
        CROSS JOIN LATERAL (VALUES (k.owner_was, k.status_was, -k.n), (k.owner_is, k.status_is, k.n)) t(owner, status, n)
        CROSS JOIN LATERAL unnest(array_prepend('', k.names::text[])) place(name)
        WHERE t.status IS NOT NULL
    $q$,
        CASE TG_OP WHEN 'INSERT' THEN 'NULL, NULL' WHEN 'DELETE' THEN 'c.owner, c.status' ELSE 'b.owner, b.status' END,
        CASE TG_OP WHEN 'DELETE' THEN 'NULL, NULL' ELSE 'c.owner, c.status' END,
        CASE TG_OP WHEN 'UPDATE' THEN $q$
            JOIN before b ON b.action_id = c.action_id AND b.node = c.node AND b.phase = c.phase
                AND (b.status, b.owner) IS DISTINCT FROM (c.status, c.owner)
        $q$ END));
    PERFORM slipway_touch(action_id, site)
    FROM (SELECT DISTINCT c.action_id, a.site FROM changed c JOIN action a ON a.id = c.action_id) its;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_task_insert AFTER INSERT ON task
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_task();
CREATE TRIGGER count_task_update AFTER UPDATE ON task
    REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_task();
CREATE TRIGGER count_task_delete AFTER DELETE ON task
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_task();

CREATE FUNCTION slipway_count_group_node() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM changed) THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('slipway: groups of action_id ' || scope, 0))
    FROM (SELECT DISTINCT action_id AS scope FROM changed ORDER BY 1) scopes;
    EXECUTE $q$
        SELECT 1
        FROM task t
        WHERE EXISTS (SELECT 1 FROM changed g WHERE g.action_id = t.action_id AND g.node = t.node)
        ORDER BY t.action_id, t.node, t.phase FOR UPDATE
    $q$;
    EXECUTE slipway_counted(format($q$
        SELECT t.action_id, a.site, g.group_name, t.phase, coalesce(t.owner, ''), t.status, '', %s
        FROM task t
        JOIN action a ON a.id = t.action_id
        JOIN changed g ON g.action_id = t.action_id AND g.node = t.node
    $q$, CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END));
    RETURN NULL;
END
$$;
CREATE TRIGGER count_group_node_insert AFTER INSERT ON group_node
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_group_node();
CREATE TRIGGER count_group_node_delete AFTER DELETE ON group_node
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_group_node();

-- The counts of a site: its nodes, in the groups of the newest design.

CREATE FUNCTION slipway_count_node() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    -- As what a node counts; without a standing it does not.
    cell text := $q$
        CASE WHEN num_nonnulls(%1$s.wanted_digest, %1$s.done_digest, %1$s.status) > 0 THEN %1$s.standing END,
        %1$s.owner, %1$s.wanted_digest IS NULL, %1$s.serves
    $q$;
    nothing text := 'NULL, NULL, NULL::boolean, NULL';
    moved bigint;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM changed) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' THEN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('slipway: groups of site ' || scope, 0))
        FROM (SELECT DISTINCT site AS scope FROM changed ORDER BY 1) scopes;
    END IF;
    EXECUTE slipway_counted(format($q$
        SELECT '', k.site, place.name,
            CASE
                WHEN place.name <> '' THEN 'grouped'
                WHEN t.gone THEN 'to be removed'
                WHEN cardinality(k.names) > 0 THEN 'grouped'
                ELSE 'no group'
            END,
            coalesce(t.owner, ''), t.standing, t.serves, t.n
        FROM (
            SELECT c.site, %s, %s,
                ARRAY(SELECT m.group_name FROM site_group_node m WHERE m.site = c.site AND m.node = c.name),
                count(*)
            FROM changed c %s
            GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
        ) k(site, standing_was, owner_was, gone_was, serves_was, standing_is, owner_is, gone_is, serves_is, names, n)
        CROSS JOIN LATERAL (
            VALUES
                (k.standing_was, k.owner_was, k.gone_was, k.serves_was, -k.n),
                (k.standing_is, k.owner_is, k.gone_is, k.serves_is, k.n)
        ) t(standing, owner, gone, serves, n)
        CROSS JOIN LATERAL unnest(array_prepend('', k.names::text[])) place(name)
        WHERE t.standing IS NOT NULL
    $q$,
        CASE TG_OP WHEN 'INSERT' THEN nothing WHEN 'DELETE' THEN format(cell, 'c') ELSE format(cell, 'b') END,
        CASE TG_OP WHEN 'DELETE' THEN nothing ELSE format(cell, 'c') END,
        CASE TG_OP WHEN 'UPDATE' THEN $q$
            JOIN before b ON b.site = c.site AND b.name = c.name
                AND (b.standing, b.serves, b.owner, b.status, b.wanted_digest, b.done_digest)
                    IS DISTINCT FROM (c.standing, c.serves, c.owner, c.status, c.wanted_digest, c.done_digest)
        $q$ END));
    GET DIAGNOSTICS moved = ROW_COUNT;
    IF moved > 0 OR TG_OP <> 'UPDATE' THEN
        PERFORM slipway_touch('', its.site) FROM (SELECT DISTINCT site FROM changed) its;
    ELSE
        EXECUTE $q$
            SELECT slipway_touch('', its.site)
            FROM (
                SELECT b.site
                FROM before b
                JOIN changed c ON c.site = b.site AND c.name = b.name
                    AND (
                        b.standing, b.status, b.error, b.error_revision, b.error_action,
                        b.fixed, b.last_updated, b.wanted_revision, b.wanted_digest,
                        b.done_revision, b.done_digest, b.doubt, b.rack, b.provisioner_status,
                        b.power, b.owner, b.wanted_version, b.touched, b.done_version,
                        b.error_version, b.failures, b.next_try
                    ) IS DISTINCT FROM (
                        c.standing, c.status, c.error, c.error_revision, c.error_action,
                        c.fixed, c.last_updated, c.wanted_revision, c.wanted_digest,
                        c.done_revision, c.done_digest, c.doubt, c.rack, c.provisioner_status,
                        c.power, c.owner, c.wanted_version, c.touched, c.done_version,
                        c.error_version, c.failures, c.next_try
                    )
                GROUP BY b.site
            ) its
        $q$;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_node_insert AFTER INSERT ON node
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_node();
CREATE TRIGGER count_node_update AFTER UPDATE ON node
    REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_node();
CREATE TRIGGER count_node_delete AFTER DELETE ON node
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_node();

-- What is in trouble, found by group without an index that each result would change: nodes (site_trouble) and tasks
-- (task_trouble). Nodes that are put into groups, or taken out of them, move in counts and troubles.

CREATE FUNCTION slipway_count_site_group_node() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM changed) THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('slipway: groups of site ' || scope, 0))
    FROM (SELECT DISTINCT site AS scope FROM changed ORDER BY 1) scopes;
    EXECUTE $q$
        SELECT 1
        FROM node t
        WHERE EXISTS (SELECT 1 FROM changed g WHERE g.site = t.site AND g.node = t.name)
        ORDER BY t.site, t.name COLLATE "C" FOR UPDATE
    $q$;
    -- A node comes to stand in groups with its first one, and in none with its last.
    EXECUTE slipway_counted(format($q$
        SELECT '', t.site, place.group_name, place.phase, coalesce(t.owner, ''), t.standing, t.serves, place.n * %s
        FROM (
            SELECT site, node, group_name, 'grouped' AS phase, 1 AS n FROM changed
            UNION ALL
            SELECT its.site, its.node, '', moved.phase, moved.n
            FROM (
                SELECT c.site, c.node
                FROM (SELECT DISTINCT site, node FROM changed) c
                LEFT JOIN site_group_node m ON m.site = c.site AND m.node = c.node
                LEFT JOIN changed r ON r.site = m.site AND r.group_name = m.group_name AND r.node = m.node
                GROUP BY c.site, c.node
                HAVING count(r.node) = count(m.node)
            ) its
            JOIN node n ON n.site = its.site AND n.name = its.node AND n.wanted_digest IS NOT NULL
            CROSS JOIN (VALUES ('grouped', 1), ('no group', -1)) moved(phase, n)
        ) place
        JOIN node t ON t.site = place.site AND t.name = place.node
            AND num_nonnulls(t.wanted_digest, t.done_digest, t.status) > 0
    $q$, CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END));
    IF TG_OP = 'INSERT' THEN
        EXECUTE $q$
            INSERT INTO site_trouble (site, group_name, standing, node, error)
            SELECT m.site, m.group_name, n.standing, m.node, n.error
            FROM changed m
            JOIN node n ON n.site = m.site AND n.name = m.node
            WHERE n.standing IN ('error', 'undefined')
            ON CONFLICT DO NOTHING
        $q$;
    ELSE
        EXECUTE $q$
            DELETE FROM site_trouble t
            USING changed m
            WHERE t.site = m.site AND t.group_name = m.group_name AND t.standing IN ('error', 'undefined')
                AND t.node = m.node
        $q$;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER count_site_group_node_insert AFTER INSERT ON site_group_node
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_site_group_node();
CREATE TRIGGER count_site_group_node_delete AFTER DELETE ON site_group_node
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_count_site_group_node();

CREATE FUNCTION slipway_trouble_node() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    otherwise text := CASE TG_OP WHEN 'UPDATE' THEN $q$
        AND EXISTS (
            SELECT 1
            FROM %s b
            WHERE b.site = n.site AND b.name = n.name
                AND (b.standing <> n.standing OR b.error IS DISTINCT FROM n.error)
        )
    $q$ ELSE '' END;
    was_troubled bool := false;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        was_troubled := EXISTS (SELECT 1 FROM before WHERE standing IN ('error', 'undefined'));
    END IF;
    IF was_troubled OR TG_OP = 'DELETE' THEN
        EXECUTE format($q$
            DELETE FROM site_trouble t
            USING %s n
            JOIN site_group_node m ON m.site = n.site AND m.node = n.name
            WHERE n.standing IN ('error', 'undefined') AND t.site = m.site AND t.group_name = m.group_name
                AND t.standing = n.standing AND t.node = m.node %s
        $q$, CASE TG_OP WHEN 'DELETE' THEN 'changed' ELSE 'before' END, format(otherwise, 'changed'));
    END IF;
    IF TG_OP <> 'DELETE' AND EXISTS (SELECT 1 FROM changed WHERE standing IN ('error', 'undefined')) THEN
        EXECUTE format($q$
            INSERT INTO site_trouble (site, group_name, standing, node, error)
            SELECT m.site, m.group_name, n.standing, m.node, n.error
            FROM changed n
            JOIN site_group_node m ON m.site = n.site AND m.node = n.name
            WHERE n.standing IN ('error', 'undefined') %s
            ON CONFLICT DO NOTHING
        $q$, format(otherwise, 'before'));
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER trouble_node_insert AFTER INSERT ON node
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_node();
CREATE TRIGGER trouble_node_update AFTER UPDATE ON node
    REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_node();
CREATE TRIGGER trouble_node_delete AFTER DELETE ON node
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_node();

CREATE FUNCTION slipway_trouble_task() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    otherwise text := CASE TG_OP WHEN 'UPDATE' THEN $q$
        AND EXISTS (
            SELECT 1
            FROM %s b
            WHERE b.action_id = n.action_id AND b.node = n.node AND b.phase = n.phase
                AND (b.status <> n.status OR coalesce(b.owner_group, '') <> coalesce(n.owner_group, ''))
        )
    $q$ ELSE '' END;
    was_troubled bool := false;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        was_troubled := EXISTS (SELECT 1 FROM before WHERE status IN ('error', 'unknown'));
    END IF;
    IF was_troubled OR TG_OP = 'DELETE' THEN
        EXECUTE format($q$
            DELETE FROM task_trouble t
            USING %s n
            WHERE n.status IN ('error', 'unknown') AND t.owner_group = coalesce(n.owner_group, '')
                AND t.action_id = n.action_id AND t.node = n.node AND t.phase = n.phase %s
        $q$, CASE TG_OP WHEN 'DELETE' THEN 'changed' ELSE 'before' END, format(otherwise, 'changed'));
    END IF;
    IF TG_OP <> 'DELETE' AND EXISTS (SELECT 1 FROM changed WHERE status IN ('error', 'unknown')) THEN
        EXECUTE format($q$
            INSERT INTO task_trouble (action_id, owner_group, node, phase, status)
            SELECT n.action_id, coalesce(n.owner_group, ''), n.node, n.phase, n.status
            FROM changed n
            WHERE n.status IN ('error', 'unknown') %s
            ON CONFLICT DO NOTHING
        $q$, format(otherwise, 'before'));
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER trouble_task_insert AFTER INSERT ON task
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_task();
CREATE TRIGGER trouble_task_update AFTER UPDATE ON task
    REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_task();
CREATE TRIGGER trouble_task_delete AFTER DELETE ON task
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION slipway_trouble_task();

-- Each result changes a row of `task`: free room on its page keeps that from touching indexes. The counts are few and
-- change all the time: they are cleaned after so many changes, however many rows there are.
ALTER TABLE task SET (fillfactor = 60);
ALTER TABLE status_count SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000);
