--
-- PostgreSQL database dump
--

\restrict slipway

-- Dumped from database version 18.4
-- Dumped by pg_dump version 18.4

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: slipway_count_group_node(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.slipway_count_group_node() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
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
$_$;


--
-- Name: slipway_count_node(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.slipway_count_node() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
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
$_$;


--
-- Name: slipway_count_site_group_node(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.slipway_count_site_group_node() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
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
$_$;


--
-- Name: slipway_count_task(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.slipway_count_task() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
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
$_$;


--
-- Name: slipway_counted(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.slipway_counted(cells text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $_$
    SELECT format($q$
        INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
        SELECT action_id, site, group_name, phase, owner, status, serves, pg_current_xact_id()::text::bigint, sum(n)
        FROM (%s) cells(action_id, site, group_name, phase, owner, status, serves, n)
        GROUP BY action_id, site, group_name, phase, owner, status, serves
        HAVING sum(n) <> 0
        ON CONFLICT (action_id, site, group_name, phase, owner, status, serves, part)
        DO UPDATE SET records = status_count.records + excluded.records
    $q$, cells)
$_$;


--
-- Name: slipway_touch(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.slipway_touch(the_action text, the_site text) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO status_count (action_id, site, group_name, phase, owner, status, serves, part, records)
    SELECT the_action, the_site, '', '~touch', '', '', '', pg_current_xact_id()::text::bigint, 1
    WHERE the_action IS NOT NULL AND the_site IS NOT NULL
    ON CONFLICT DO NOTHING
$$;


--
-- Name: slipway_touch_action(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.slipway_touch_action() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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


--
-- Name: slipway_touch_action_row(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.slipway_touch_action_row() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    the_site text;
BEGIN
    the_site := (SELECT site FROM action WHERE id = coalesce(NEW.action_id, OLD.action_id));
    PERFORM slipway_touch(coalesce(NEW.action_id, OLD.action_id), the_site), slipway_touch('', the_site);
    RETURN NULL;
END
$$;


--
-- Name: slipway_touch_reported(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.slipway_touch_reported() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM slipway_touch(nullif(coalesce(NEW.action_id, OLD.action_id), ''), coalesce(NEW.site, OLD.site)),
        slipway_touch('', coalesce(NEW.site, OLD.site));
    RETURN NULL;
END
$$;


--
-- Name: slipway_touch_revision(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.slipway_touch_revision() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM slipway_touch('', NEW.site);
    RETURN NULL;
END
$$;


--
-- Name: slipway_trouble_node(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.slipway_trouble_node() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
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
$_$;


--
-- Name: slipway_trouble_task(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.slipway_trouble_task() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
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
$_$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: action; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.action (
    id character varying(26) NOT NULL,
    kind character varying NOT NULL,
    site character varying NOT NULL,
    revision integer,
    parameters json NOT NULL,
    dag_id character varying NOT NULL,
    run_id character varying,
    created_by character varying NOT NULL,
    created timestamp with time zone NOT NULL,
    started timestamp with time zone,
    ended timestamp with time zone,
    planned timestamp with time zone,
    state character varying NOT NULL,
    verdict text,
    left_alone integer DEFAULT 0 NOT NULL,
    context_marker character varying,
    dry_run boolean DEFAULT false NOT NULL,
    targeted boolean DEFAULT false NOT NULL,
    step character varying,
    paused timestamp with time zone,
    connection character varying,
    design_fetch integer DEFAULT 0 NOT NULL,
    idle double precision DEFAULT '0'::double precision NOT NULL,
    noted timestamp with time zone,
    version integer DEFAULT 1 NOT NULL
);


--
-- Name: action_audit; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.action_audit (
    id character varying(26) NOT NULL,
    action_id character varying(26) NOT NULL,
    command character varying NOT NULL,
    created_by character varying NOT NULL,
    at timestamp with time zone NOT NULL
);


--
-- Name: action_report; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.action_report (
    action_id character varying(26) NOT NULL,
    report json NOT NULL
);


--
-- Name: action_step; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.action_step (
    action_id character varying(26) NOT NULL,
    name character varying NOT NULL,
    group_name character varying NOT NULL,
    state character varying NOT NULL,
    attempt integer NOT NULL,
    started timestamp with time zone,
    ended timestamp with time zone,
    message text,
    owner character varying,
    "position" integer,
    fixed text
);


--
-- Name: approval; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.approval (
    action_id character varying(26) NOT NULL,
    group_name character varying NOT NULL,
    attempt integer NOT NULL,
    moment character varying NOT NULL,
    text text NOT NULL,
    approvers json NOT NULL,
    asked timestamp with time zone NOT NULL,
    deadline timestamp with time zone,
    answered timestamp with time zone,
    answer character varying,
    answered_by character varying,
    comment text,
    noted timestamp with time zone
);


--
-- Name: buffer; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.buffer (
    site character varying NOT NULL,
    version integer NOT NULL,
    changed timestamp with time zone,
    changed_by character varying
);


--
-- Name: buffer_collection; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.buffer_collection (
    site character varying NOT NULL,
    name character varying NOT NULL,
    content_id bigint NOT NULL
);


--
-- Name: candidate; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.candidate (
    token character varying NOT NULL,
    site character varying NOT NULL,
    created timestamp with time zone NOT NULL,
    text bytea NOT NULL
);


--
-- Name: check_result; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.check_result (
    subject character varying NOT NULL,
    problem text,
    since timestamp with time zone NOT NULL,
    checked_at timestamp with time zone NOT NULL
);


--
-- Name: content; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.content (
    id bigint NOT NULL,
    site character varying NOT NULL,
    digest character varying NOT NULL,
    documents integer,
    text bytea NOT NULL
);


--
-- Name: content_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.content ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.content_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: delivery; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.delivery (
    outbox_id bigint NOT NULL,
    target character varying NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_try timestamp with time zone,
    delivered timestamp with time zone,
    error text
);


--
-- Name: design_object; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.design_object (
    site character varying NOT NULL,
    kind character varying NOT NULL,
    name character varying NOT NULL,
    digest character varying NOT NULL,
    uses json NOT NULL,
    version integer NOT NULL,
    revision integer NOT NULL,
    policed_version integer,
    policed_set character varying,
    by_policy json
);


--
-- Name: document; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.document (
    content_id bigint NOT NULL,
    "position" integer NOT NULL,
    schema character varying NOT NULL,
    name character varying NOT NULL,
    layer character varying
);


--
-- Name: event; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.event (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    site character varying NOT NULL,
    action_id character varying(26),
    group_name character varying,
    node character varying,
    kind character varying NOT NULL,
    message text NOT NULL,
    data json NOT NULL
);


--
-- Name: event_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.event ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: group_node; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.group_node (
    action_id character varying(26) NOT NULL,
    group_name character varying NOT NULL,
    node character varying NOT NULL
);


--
-- Name: group_run; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.group_run (
    action_id character varying(26) NOT NULL,
    name character varying NOT NULL,
    "position" integer NOT NULL,
    critical boolean NOT NULL,
    definition json NOT NULL,
    map_index integer,
    state character varying NOT NULL,
    reason character varying,
    attempt integer NOT NULL,
    attempt_key character varying,
    criteria json NOT NULL,
    counts json NOT NULL,
    plan json,
    started timestamp with time zone,
    ended timestamp with time zone
);


--
-- Name: lease; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.lease (
    name character varying NOT NULL,
    owner character varying NOT NULL,
    epoch bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    renewed timestamp with time zone NOT NULL,
    secret_hash character varying
);


--
-- Name: node; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.node (
    site character varying NOT NULL,
    name character varying NOT NULL,
    wanted_revision integer,
    wanted_digest character varying,
    wanted_version integer,
    touched integer,
    touched_by character varying,
    depends_on json,
    op bigint,
    done_revision integer,
    done_digest character varying,
    done_version integer,
    done_at timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    next_try timestamp with time zone,
    tried_action character varying(26),
    version integer DEFAULT 1 NOT NULL,
    condition character varying,
    left_as character varying,
    doubt text,
    owner character varying,
    status character varying,
    error text,
    error_revision integer,
    error_version integer,
    error_action character varying(26),
    fixed text,
    first_updated timestamp with time zone,
    last_updated timestamp with time zone,
    rack character varying,
    provisioner_status character varying,
    power character varying,
    listed_at timestamp with time zone,
    standing character varying GENERATED ALWAYS AS (
CASE
    WHEN ((status IS NOT NULL) AND ((status)::text <> ALL ((ARRAY['pending'::character varying, 'processing'::character varying, 'success'::character varying, 'error'::character varying, 'deleted'::character varying])::text[]))) THEN 'undefined'::text
    WHEN ((status)::text = 'processing'::text) THEN 'processing'::text
    WHEN ((wanted_digest IS NULL) AND (done_digest IS NULL)) THEN 'deleted'::text
    WHEN ((wanted_digest IS NULL) AND ((status)::text = 'error'::text)) THEN 'error'::text
    WHEN (wanted_digest IS NULL) THEN 'pending'::text
    WHEN (((status)::text = 'error'::text) AND (error IS NOT NULL) AND (error_action IS NULL)) THEN 'error'::text
    WHEN (((status)::text = 'error'::text) AND ((error_version >= wanted_version) OR (((error_version IS NULL) OR (wanted_version IS NULL)) AND ((error_revision IS NULL) OR (error_revision >= wanted_revision))))) THEN 'error'::text
    WHEN ((done_digest IS NULL) OR (doubt IS NOT NULL) OR ((done_digest)::text <> (wanted_digest)::text)) THEN 'pending'::text
    WHEN ((touched IS NOT NULL) AND ((done_version IS NULL) OR (done_version < touched))) THEN 'pending'::text
    ELSE 'success'::text
END) STORED NOT NULL,
    serves character varying GENERATED ALWAYS AS (
CASE
    WHEN ((done_digest IS NULL) OR (doubt IS NOT NULL)) THEN 'nothing'::text
    WHEN (((status)::text = ANY ((ARRAY['error'::character varying, 'processing'::character varying])::text[])) AND (error IS NOT NULL) AND (error_action IS NULL)) THEN 'nothing'::text
    WHEN ((done_digest)::text = (wanted_digest)::text) THEN 'wanted'::text
    ELSE 'older'::text
END) STORED NOT NULL
);


--
-- Name: node_drift; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.node_drift (
    site character varying NOT NULL,
    node character varying NOT NULL,
    since timestamp with time zone NOT NULL,
    reason text NOT NULL,
    op bigint,
    ended timestamp with time zone
);


--
-- Name: node_error; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.node_error (
    site character varying NOT NULL,
    node character varying NOT NULL,
    op bigint NOT NULL,
    code character varying,
    text text,
    phase character varying NOT NULL,
    action_id character varying(26) NOT NULL,
    provisioner_task character varying,
    wanted_version integer,
    "time" timestamp with time zone NOT NULL,
    state character varying NOT NULL,
    acknowledged_at timestamp with time zone,
    acknowledged_by character varying
);


--
-- Name: node_question; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.node_question (
    op bigint NOT NULL,
    urls json NOT NULL,
    most integer NOT NULL
);


--
-- Name: node_trouble; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.node_trouble (
    site character varying NOT NULL,
    node character varying NOT NULL,
    status character varying NOT NULL,
    since timestamp with time zone NOT NULL
);


--
-- Name: node_view; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.node_view (
    site character varying NOT NULL,
    node character varying NOT NULL,
    word character varying,
    power character varying,
    reported character varying,
    reported_since double precision,
    crashes integer NOT NULL,
    history json NOT NULL,
    state character varying NOT NULL,
    reason text NOT NULL,
    since double precision NOT NULL,
    user_since double precision NOT NULL
);


--
-- Name: operation; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.operation (
    op bigint NOT NULL,
    action_id character varying(26) NOT NULL,
    site character varying NOT NULL,
    group_name character varying,
    attempt integer NOT NULL,
    phase character varying NOT NULL,
    round integer DEFAULT 0 NOT NULL,
    left_out json,
    reference character varying,
    nodes json NOT NULL,
    design_ref text NOT NULL,
    provisioner_task character varying,
    lease_owner character varying,
    lease_until timestamp with time zone,
    created timestamp with time zone NOT NULL,
    sending timestamp with time zone,
    submitted timestamp with time zone,
    running_since timestamp with time zone,
    ended timestamp with time zone,
    over timestamp with time zone,
    status character varying NOT NULL,
    result text,
    at_work json
);


--
-- Name: operation_op_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.operation ALTER COLUMN op ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.operation_op_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: outbox; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.outbox (
    id bigint NOT NULL,
    event_id character varying NOT NULL,
    site character varying NOT NULL,
    kind character varying NOT NULL,
    action_id character varying(26),
    group_name character varying,
    created timestamp with time zone NOT NULL,
    data json NOT NULL,
    routed timestamp with time zone
);


--
-- Name: outbox_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.outbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: owner; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.owner (
    name character varying NOT NULL,
    last_seen timestamp with time zone NOT NULL,
    interval_seconds double precision NOT NULL,
    detail text,
    unresponsive_since timestamp with time zone
);


--
-- Name: provisioner_call; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.provisioner_call (
    owner character varying NOT NULL,
    call character varying NOT NULL,
    result character varying NOT NULL,
    bucket integer NOT NULL,
    calls bigint NOT NULL,
    seconds double precision NOT NULL
);


--
-- Name: provisioner_list; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.provisioner_list (
    site character varying NOT NULL,
    connection character varying NOT NULL,
    read_at timestamp with time zone NOT NULL,
    nodes bytea NOT NULL,
    digest character varying(64),
    every_seconds double precision
);


--
-- Name: repair; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.repair (
    site character varying NOT NULL,
    node character varying NOT NULL,
    cause character varying NOT NULL,
    attempt integer NOT NULL,
    reason text NOT NULL,
    redeploy boolean NOT NULL,
    revision integer,
    begun timestamp with time zone NOT NULL,
    run_id character varying,
    action_id character varying(26),
    ended timestamp with time zone,
    result character varying
);


--
-- Name: repair_switch; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.repair_switch (
    site character varying NOT NULL,
    stopped_at timestamp with time zone NOT NULL,
    stopped_by character varying NOT NULL,
    reason text NOT NULL
);


--
-- Name: reported; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.reported (
    site character varying NOT NULL,
    action_id character varying(26) NOT NULL,
    parent character varying NOT NULL,
    name character varying NOT NULL,
    owner character varying NOT NULL,
    status character varying NOT NULL,
    message text,
    revision integer,
    first_updated timestamp with time zone NOT NULL,
    last_updated timestamp with time zone NOT NULL
);


--
-- Name: reporter; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.reporter (
    id character varying(26) NOT NULL,
    site character varying NOT NULL,
    owner character varying NOT NULL,
    token_hash character varying NOT NULL,
    created timestamp with time zone NOT NULL,
    created_by character varying NOT NULL,
    revoked timestamp with time zone,
    last_used timestamp with time zone
);


--
-- Name: revision; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.revision (
    id bigint NOT NULL,
    site character varying NOT NULL,
    number integer NOT NULL,
    digest character varying NOT NULL,
    design_token character varying NOT NULL,
    created timestamp with time zone NOT NULL,
    created_by character varying NOT NULL,
    design_id bigint,
    secrets_id bigint,
    base integer,
    rollback_of integer,
    forced boolean DEFAULT false NOT NULL,
    problems json DEFAULT '[]'::json NOT NULL,
    notifications json,
    settings json,
    policies json
);


--
-- Name: revision_collection; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.revision_collection (
    revision_id bigint NOT NULL,
    name character varying NOT NULL,
    content_id bigint NOT NULL
);


--
-- Name: revision_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.revision ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.revision_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: shared_list; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.shared_list (
    name character varying NOT NULL,
    answer bytea NOT NULL,
    asked_at timestamp with time zone,
    took double precision NOT NULL,
    flight character varying(32),
    begun_at timestamp with time zone,
    alive_until timestamp with time zone,
    problem text,
    timed_out integer NOT NULL,
    again_at timestamp with time zone
);


--
-- Name: site; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.site (
    name character varying NOT NULL,
    created timestamp with time zone NOT NULL,
    unwatched_since timestamp with time zone
);


--
-- Name: site_audit; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.site_audit (
    id character varying(26) NOT NULL,
    site character varying NOT NULL,
    command character varying NOT NULL,
    nodes json NOT NULL,
    detail text,
    created_by character varying NOT NULL,
    at timestamp with time zone NOT NULL
);


--
-- Name: site_group; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.site_group (
    site character varying NOT NULL,
    name character varying NOT NULL,
    "position" integer NOT NULL,
    critical boolean NOT NULL,
    depends_on json NOT NULL,
    definition json NOT NULL
);


--
-- Name: site_group_node; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.site_group_node (
    site character varying NOT NULL,
    group_name character varying NOT NULL,
    node character varying NOT NULL
);


--
-- Name: site_lock; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.site_lock (
    site character varying NOT NULL,
    action_id character varying(26) NOT NULL,
    dag_id character varying NOT NULL,
    run_id character varying,
    acquired timestamp with time zone NOT NULL
);


--
-- Name: site_stop; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.site_stop (
    site character varying NOT NULL,
    why character varying NOT NULL,
    at timestamp with time zone NOT NULL,
    resumed timestamp with time zone NOT NULL
);


--
-- Name: site_trouble; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.site_trouble (
    site character varying NOT NULL,
    group_name character varying NOT NULL,
    standing character varying NOT NULL,
    node character varying NOT NULL,
    error text
);


--
-- Name: site_view; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.site_view (
    site character varying NOT NULL,
    epoch bigint NOT NULL,
    number bigint NOT NULL,
    published_at timestamp with time zone NOT NULL,
    owner character varying NOT NULL,
    state character varying NOT NULL,
    reason text NOT NULL,
    digest character varying NOT NULL,
    body bytea NOT NULL
);


--
-- Name: site_view_change; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.site_view_change (
    site character varying NOT NULL,
    epoch bigint NOT NULL,
    number bigint NOT NULL,
    published_at timestamp with time zone NOT NULL,
    owner character varying NOT NULL,
    changes bytea NOT NULL
);


--
-- Name: slipway_schema_version; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.slipway_schema_version (
    version_num character varying(32) NOT NULL
);


--
-- Name: status_count; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.status_count (
    action_id character varying(26) NOT NULL,
    site character varying NOT NULL,
    group_name character varying NOT NULL,
    phase character varying NOT NULL,
    owner character varying NOT NULL,
    status character varying NOT NULL,
    serves character varying NOT NULL,
    part bigint NOT NULL,
    records bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.0', autovacuum_vacuum_threshold='2000');


--
-- Name: task; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.task (
    action_id character varying(26) NOT NULL,
    node character varying NOT NULL,
    phase character varying NOT NULL,
    owner_group character varying,
    op bigint,
    status character varying NOT NULL,
    error text,
    digest character varying,
    found character varying,
    started timestamp with time zone,
    ended timestamp with time zone,
    owner character varying,
    fixed text,
    wanted_version integer,
    tries integer DEFAULT 1 NOT NULL,
    done_op bigint,
    done_revision integer,
    held text
)
WITH (fillfactor='60');


--
-- Name: task_trouble; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.task_trouble (
    action_id character varying(26) NOT NULL,
    owner_group character varying NOT NULL,
    node character varying NOT NULL,
    phase character varying NOT NULL,
    status character varying NOT NULL
);


--
-- Name: user_state; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.user_state (
    site character varying NOT NULL,
    node character varying NOT NULL,
    state character varying NOT NULL,
    reason text NOT NULL,
    until timestamp with time zone,
    set_by character varying NOT NULL,
    set_at timestamp with time zone NOT NULL
);


--
-- Data for Name: action; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.action (id, kind, site, revision, parameters, dag_id, run_id, created_by, created, started, ended, planned, state, verdict, left_alone, context_marker, dry_run, targeted, step, paused, connection, design_fetch, idle, noted, version) FROM stdin;
01M7YZMHG0G044V3FKE1DRP8TQ	deploy_site	running	1	{}	deploy_site	running-first	ann	2026-11-21 12:00:00+00	2026-11-21 12:00:00+00	2026-11-21 12:08:09+00	2026-11-21 12:00:01+00	success	every group succeeded	0	\N	f	f	\N	\N	slipway_provisioner	0	0	\N	3
01M7Z03F18K3SZW2GYDZSYZXGE	deploy_site	running	2	{}	deploy_site	running-second	ann	2026-11-21 12:08:09+00	2026-11-21 12:08:09+00	\N	2026-11-21 12:08:10+00	running	\N	0	\N	f	f	\N	2026-11-21 12:13:16+00	slipway_provisioner	0	0	\N	4
01M7Z0ENE0YHM3KR54HQA28J0A	deploy_site	beside	1	{}	deploy_site	beside-first	ann	2026-11-21 12:14:16+00	2026-11-21 12:14:16+00	\N	2026-11-21 12:14:17+00	running	\N	0	\N	f	f	\N	\N	slipway_provisioner	0	0	\N	2
01M7Z0M84R25HZD70V5BJ8BB3A	deploy_site	failed	1	{}	deploy_site	failed-first	ann	2026-11-21 12:17:19+00	2026-11-21 12:17:19+00	2026-11-21 12:23:26+00	2026-11-21 12:17:20+00	failed	2 groups failed: control, compute	0	\N	f	f	\N	\N	slipway_provisioner	0	0	\N	3
01M7Z0ZEHGX1KYSR8PVHYMPW7N	deploy_site	failed	1	{}	deploy_site	failed-second	bob	2026-11-21 12:23:26+00	\N	\N	\N	pending	\N	0	\N	f	f	\N	\N	slipway_provisioner	0	0	\N	1
01M7Z1194GVNHDVHHSF8S5WCPH	deploy_site	pruned	1	{}	deploy_site	pruned-first	ann	2026-11-21 12:24:26+00	2026-11-21 12:24:26+00	2026-11-21 12:28:31+00	2026-11-21 12:24:27+00	success	every group succeeded	0	\N	f	f	\N	\N	slipway_provisioner	0	0	\N	3
01M7Z18RCRSEBDKRG00Z75KXN7	update_site	pruned	2	{}	update_site	pruned-second	ann	2026-11-21 12:28:31+00	2026-11-21 12:28:31+00	\N	2026-11-21 12:28:32+00	running	\N	0	\N	f	f	\N	\N	slipway_provisioner	0	0	\N	2
01M7Z1CGGG6TE4F7N5GYFVHV8X	deploy_site	led	2	{}	deploy_site	led-first	ann	2026-11-21 12:30:34+00	2026-11-21 12:30:34+00	2026-11-21 12:34:39+00	2026-11-21 12:30:35+00	success	every group succeeded	0	\N	f	f	\N	\N	slipway_provisioner	0	0	\N	3
\.


--
-- Data for Name: action_audit; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.action_audit (id, action_id, command, created_by, at) FROM stdin;
01M7Z0CTV0HM7RM8BCFBT24EZQ	01M7Z03F18K3SZW2GYDZSYZXGE	pause	ann	2026-11-21 12:13:16+00
\.


--
-- Data for Name: action_report; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.action_report (action_id, report) FROM stdin;
01M7YZMHG0G044V3FKE1DRP8TQ	{"action":"01M7YZMHG0G044V3FKE1DRP8TQ","site":"running","verdict":"every group succeeded"}
01M7Z0M84R25HZD70V5BJ8BB3A	{"action":"01M7Z0M84R25HZD70V5BJ8BB3A","site":"failed","verdict":"2 groups failed: control, compute"}
01M7Z1194GVNHDVHHSF8S5WCPH	{"action":"01M7Z1194GVNHDVHHSF8S5WCPH","site":"pruned","verdict":"every group succeeded"}
01M7Z1CGGG6TE4F7N5GYFVHV8X	{"action":"01M7Z1CGGG6TE4F7N5GYFVHV8X","site":"led","verdict":"every group succeeded"}
\.


--
-- Data for Name: action_step; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.action_step (action_id, name, group_name, state, attempt, started, ended, message, owner, "position", fixed) FROM stdin;
01M7YZMHG0G044V3FKE1DRP8TQ	verify_site		success	1	2026-11-21 12:00:01+00	2026-11-21 12:01:02+00	\N	airflow:deploy_site	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	prepare_site		success	1	2026-11-21 12:01:02+00	2026-11-21 12:02:03+00	\N	airflow:deploy_site	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	verify_site		success	1	2026-11-21 12:08:10+00	2026-11-21 12:09:11+00	\N	airflow:deploy_site	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	prepare_site		success	1	2026-11-21 12:09:11+00	2026-11-21 12:10:12+00	\N	airflow:deploy_site	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	verify_site		success	1	2026-11-21 12:14:17+00	2026-11-21 12:15:18+00	\N	airflow:deploy_site	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	prepare_site		success	1	2026-11-21 12:15:18+00	2026-11-21 12:16:19+00	\N	airflow:deploy_site	\N	\N
01M7Z0M84R25HZD70V5BJ8BB3A	verify_site		success	1	2026-11-21 12:17:20+00	2026-11-21 12:18:21+00	\N	airflow:deploy_site	\N	\N
01M7Z0M84R25HZD70V5BJ8BB3A	prepare_site		success	1	2026-11-21 12:18:21+00	2026-11-21 12:19:22+00	\N	airflow:deploy_site	\N	\N
01M7Z1194GVNHDVHHSF8S5WCPH	verify_site		success	1	2026-11-21 12:24:27+00	2026-11-21 12:25:28+00	\N	airflow:deploy_site	\N	\N
01M7Z1194GVNHDVHHSF8S5WCPH	prepare_site		success	1	2026-11-21 12:25:28+00	2026-11-21 12:26:29+00	\N	airflow:deploy_site	\N	\N
01M7Z1CGGG6TE4F7N5GYFVHV8X	verify_site		success	1	2026-11-21 12:30:35+00	2026-11-21 12:31:36+00	\N	airflow:deploy_site	\N	\N
01M7Z1CGGG6TE4F7N5GYFVHV8X	prepare_site		success	1	2026-11-21 12:31:36+00	2026-11-21 12:32:37+00	\N	airflow:deploy_site	\N	\N
\.


--
-- Data for Name: approval; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.approval (action_id, group_name, attempt, moment, text, approvers, asked, deadline, answered, answer, answered_by, comment, noted) FROM stdin;
01M7Z0ENE0YHM3KR54HQA28J0A	storage	1	before	May storage go?	["bob"]	2026-11-21 12:16:19+00	\N	\N	\N	\N	\N	\N
\.


--
-- Data for Name: buffer; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.buffer (site, version, changed, changed_by) FROM stdin;
running	2	2026-11-21 12:08:09+00	ann
beside	1	2026-11-21 12:14:16+00	ann
failed	2	2026-11-21 12:23:26+00	bob
pruned	2	2026-11-21 12:28:31+00	ann
led	2	2026-11-21 12:30:34+00	ann
\.


--
-- Data for Name: buffer_collection; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.buffer_collection (site, name, content_id) FROM stdin;
failed	secrets	12
\.


--
-- Data for Name: candidate; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.candidate (token, site, created, text) FROM stdin;
\.


--
-- Data for Name: check_result; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.check_result (subject, problem, since, checked_at) FROM stdin;
\.


--
-- Data for Name: content; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.content (id, site, digest, documents, text) FROM stdin;
1	running	4ba210daf174f83242537554df9d0eb9f1305b6663f1e0843a07115c744eb523	15	\\x7801d558b16edb3010ddfd15dc3249b214db49b535cdd029089a31280c863c4b84659220a9b86ad17fef9194ec1870db4088611859649a3abe7b7747bf9724492696d5b0a125e1a6e38aadb36f500925b3d77cb201473975b49c1032ec1ad6b27bc5da0d48e7371222e9064a625a2985acf073433b30f8780f2b2185c3803e0821f4c53a43992bc98a3616c25ad85b122b9cff6c9d32b48247d508d6958435408d831f6e322071b45af25d585b92e7eff81a6d5dad8cf8097cb9862eae2647b2fbaaac7b346a251a189522531bdd06a0274c71203972a6b612cc7248dfb36854836c0f508ea5f9006eabcc7a548a4abd20a1274c8f096e4a924fd3f09715b3c9b114eea8014f44f3a0f8c85af9ce3c611e35f6d252c766da97037b917303d662fbfb022644c662942432bbdb103828f2793a2bd27ce1c11e161e07658d43e5bf2004dbfeef5dfd015c1597c055814415d769717356aeb697d0577991a7c51cb99acdce4bd62534569e6363dd14e9cded79b9babe8021ccf34f693e5fa445be382b59f612a61087d053359b9e97aa4b98c1e236cda7f3f466cc75656ba13b6a78760fba519dd7a54fa8331d54dd2809c4776112af577d9cd34e666554ab6d2f178296664a3ad479782c21cca08466b42989336d14cd881024b74b14d65100a372860618aae71026e80e144e4bafccfb15bfc6a29a088fbe2b509df4c70dbaf67fc7054418e80dbe779d1c7e357d3609d9fa93fb477fe50d207aed1fbefc77ce3b107bd4ef02112e8d78b22d0e64e79116faa2e44a542dd67fac217ad347c8d73e18c23fa12ed575677dbb786dfa2a2c820713adc41ecf72e86b347e479afd4090035bd754f2ec915aab6b43ed38392ef4467c64e22099e9b4031ead2176a431380009fa400bc90b750e4c87f34b7503c9604d0f12eb1def9d52ee331b5de44655429e26311cea161db370ad47d7df0fd6b058cdbd2be7c74b14872c0e78cfbe5fd2d4d52549c30c71b06e88d6af6395c1d9e7e9f7d47bce9defb6a292b4f1a666e7dde3ce786bc59733702c1b0841d3d26934aade6c87c334988d4063e45321578be9f42a62c063965a68c0e810c124a475ab5bf4f90cefb0dd267ce9ea70681ba1b7b4cb9ef07f074fe01ca2b3a32e7ccc38bc8c479d6a30c9afdf933f4f589673
2	running	448945bb2fd7d2af6657e565b3be3f4bbf97a7996d111228d3b45e89da33932a	\N	\\x7801d5574d8f9b3010bde757587b07029b8f2db76e73e869b5ea1eab0a79cd04ac806dd966535af5bf776c20d94869bb458ba22817629cf1cc9b37ce7b4110cc0c2ba1a629c9759b4bb68bbe40c1a5885ee2590d96e6d4d27446c8b06b588b3692353508eb361222680d29d18d105c14f8bda22d687cdcc0960b6e31a00b42087d3656536653b2a59501bfe6f7a6c470ebbe1b2b352de051569cb5296115506de1bb9d0d99585a64f921ac49c9d76ff833dad8526afe03f26c076db71a9ca9eeb334f651cb2daf6054894cd6aaf1894e58e200728799dc0bd0d950be4351cb0ad11e523957e603d8bdd4bb51254af98c804e581ee3b94e493c0ffd274a16b37325dc530d0e88ea41e6237be59839611d257229531d998eed402ee6b9066390feae8101115d3352d2217bd8e03148e265b848c278e5923d6d3c0eca0e87cabd200469ff6756bf0356c93560952050c96d98ac2f8ad5fe1a78152771982c11abc5e2b2605d03b1e21889b54ec2f5dd65b1babd82218ce30f61bc5c8549bcba2858e61aa61087d041b5985f16aa6b98c1e42e8ce7cb703de6ba3225572dd579b40155c9d6e9d227d499168a769404ca0f6102a7575d9c6927b3d0b251a6970b5e4b33292cea3c3c9610a65142335aa5c4eaa613cd982188dc6428ac3b018cca192a60a89e7d18af3b5038654e99f72b6e8d756ac23f3a56a03ae98f1b74edbf8ef31961a057f9bde964ffafe9aa09c8de9ddc3fba2b6f48a2d7fefee5df6b3e2471ccfa4d49f84ba33bd92427b2f30c853e49b1e54583fd1f6b885ef108f13a06c3f427d4a5aa6c8da38bd3a62fdc60f2a03b2b71cc271b788dc6ef0cd94f0439b05d49451e3d526354a9a91927c7b9aaf97b160e82e95659c83b6b888cd41a0720401f682078a6d6826e717ea9aa2018ace94961bde3bd97d27e64a39b5cc9828b090bc3d086178256ce501c7c33f6026c7f63286acb9444605934248386a15568129dd1c5008428d03547532205da889bd57c7ee3979dadcc145780d1a12349401abbbd438fcdf0fe386c7206e73ff13515577bda464fe8ec9fc05accdf8cba8eb152ff634c66aab1213f7fcd7e03039d7e0b
3	running	0d9a8eda00d2eaaaf9864b014029a533a2a512a0df768f94ec47946d566c809c	\N	\\x780115ca310ac0200c00c0af88b341a7d2bf88141ba315444b8c437f5f9c6e39efb52541db46a95d1ba50fe736389809059ec193e08e22c41f4c896f23e0d57bed65bf5c1b6d97e4f34a8423910e46f9107e2d7c1d78
4	running	96448a517a6bf102264c96c2e59d44aae5201446f473175d5e72b1e64de9b241	15	\\x7801d558c16ea33010bde72b7ceb09083449bbdcb6dbc39eaa6a7bac2ae4da13b002b6659ba6ecd7ef1843d248d9dd0a358aa25e8863c66fdecc38ef358aa2996515343427dc745cb14df20b4aa164f296ce1a70945347f31921e3ae712db957ac6d403abf9110491bc88969a514b2c4cf35edc0e0e33dac85140e03fa2084d057eb0c652e276b5a5be8d7fabd39b1c2f9cfd629434b7854b5605d4e580dd4387877b31189a365c177616d4e9e5ff035daba4a19f11b78b1812eac4647b2fba9ac7b346a2d6a989422538d6e7ba0274c71243970a6b6124c31a6ef5934aa46b64728c7d27c00b75566332945a55e91d013a6c704373949e771ff97648bd9b114eea8014f44fda0f8c45af9ce3c611e15f652a14333edcb81bdc8b9016bb1fd7d0123224331721298dd6de839c8d265bcc8e274e5c11e161e07658343e5bf2004dbfeef5dfd055c6597c055864465d771767356aeb697d0576996c6d912b95a2cce4bd62534569a6263dd64f1cded79b9babe80214cd36f71ba5cc559ba3a2b59f612a61087d053b5989f97aa4b98c1ec364ee7cbf866ca75652ba13b6a78720fba569dd7a54fa8331d94dd2409c4776122af577d9cd34e666954abed20177a2dcd9474a8f3f05842984109cd689d1367da209a1121486e0b14d64100a372861a18aae73e4caf3b5038155e990f2b7e8d0535d13ffaae4075321c37eadaff1dd723c2401ff07deae4fe57d3671391ad3f7978f457de0862d0fefd97ffce7907628ffa5320fa4b239c6cb303d979a4857e28b916658bf59f6a883ef411f2b50f86f04fa84b75d559df2e5e9bbe098be0c1042bb1c7538c7d8dc6ef48b31f0872609b8a4a9e3c526b7565a89d26c7856ec457260e92994e3be0c11a62471a830310a10fb410bd52e7c07438bf54d7108dd6f420b1c1f1de29e5beb3c945ae5529e46912c3a16ed1310bd77a74c3fd600d0bd5dcbb727ebc4461c8c2800fecfb254d5d9593b89f210ed68dd18675ac3238fb3c7f89bde7dcf96e2b4a496b6f6a76de3dec0cb756783901c7929110342d9d46a3eacd767f9806d30834463e1572b59acfaf02063ca6d042034687002622ad5bdfa2cf677887ed36e14b5787435b0bbda55df284ff3b7802e7109d9d74e163c6fdcb78d40907b3a1ef85014d85b105725154aa45239ccdfe0039609e8f
5	running	138242e92c6d77dc3c28d0ed3ee9de9b77e41abc99aa3d36bb1b0852ec970a5d	\N	\\x7801d557cb6edb3010bcfb2b88de25598a1fa96e4d73e829089a6351080cb596085324415271d4afef92b2ec1870db54886018bec814bddc9d9da567a2289a5956434373529aae546c9b7c878a2b99bca4b3061c2da9a3f98c9061d7b096dc2bd636209ddf4888a40de4c4b4527259e177413b30f8780f1b2eb9c3803e0821f4d93a4399cbc9860a0b612deccd89e5ce7fb74e195ac1a3129c75396102a871f0ea6643268e564579086b73f2e327fe8cb6ae5686ff82b2d842d7af4667aafba6ac7b346ac3058c2a91a946b721d1094b1c40ee31533b09a618caf7281a2510ed219573653e80db29b31d55a252cf08e884e5315e9a9ca4f3387c926c313b57c21d35e081100faa1cd92bcfcc09eba8914b85eec9746c0772b12c0d588bf4f70d8c88ec9b91931ed9c3868041962ee34516a72b9fec69e37150b63854fe052148fb3fb3fa03b0caae01ab0c81ca6ee26c7d51ac76d7c0ab344be36c89582d169705eb1a8895a648ac7516af6f2f8bd5cd150c619a7e8ed3e52aced2d545c1b2d7308538841eaac5fcb2505dc30c66b7713a5fc6eb31d795adb9eea829937bd042755e973ea1ce745075a3245079081379bdeae34c3b999551adb67bb910b43453d2a1cec3630961062534a32227ceb4bd68c60c4196b64061dd0b6054ce2080a17a0e6182ee40e1547865be5ff16bac5713e1d1b302d5c9feb841d7feebb89011067a93dfbb4e0eff9abe9a88ecfcc9fb477fe50d49ecb57f78f9f79a0f491cb37e5712e1d2e84fb6d989ec3c43a1af4a6e78d562ffc71aa2373c42bc8ec130fd0975a9ae3bebe9e2b5e90bb7983c98de4a1cf329065ea3f13b43f613410e6c5b5359268fd45a5d1b6ac7c971ae1bfe91858364a6d30ecade1a22238dc10188d0075a889ea973603a9c5faa054483353d296cef78ef94725fd8e8260b557139616118daf24a52e10dc5c137632fc0ed6f0c4d5d9d93041c4b8664d030741a4da237ba1880100da6e1684a94441bf169359f7f0acbde56169a6bc0e8d0932422addbdca2c766787f1c367983f39ff85ac1f58e76c9133afb27700ef3b7a3ae63ac34fc189399706c1afa5a18d0941b5b205a45ad5ab4a9d9ec37bc208627
6	beside	95c953f91b56fdf2f7698435a2350bc7f0c070730832bd1735cc6c7cc3e72849	15	\\x7801d5583d6fdb3010ddfd2bb865926429fe48b535cdd029089a3128049a3c4b84259120a9b86ad1ffdea328c931e0b68110c330b25834757cf7ee8e7e2f4110cc0c2ba0a229e1bae592eda26f900b5947aff1ac024b39b5349d1132ec1ad6a207c99a0a6aeb361252d30a52b2012338e063495bd0a2ce1f602b6a61319e8b4108dd18ab29b329d9d2d2b89dfdde941861ddb3b152d31c9e6429589b125602d5167ed8d900c4d23ce36358939297eff81a6d6c21b5f8093cdb41eb578313c97d95c63e69b915254cca90c94a351dd033a63870ec3993fb1a7436a4ef18d3b244b20728a7d27c04bb977a372945293748e819d36382eb94c4f3b0fb8b92c5ec540af7548323a27c947c62ad5c639e318f027b2953be990ee5c05ee45c8331d8feae8001a97d3152e2991d37741c24f1325c2461bc72608f0b8f83b24b89765f10826dfff7aefe00ae926be02a41a292db30595f94abfd35f4559cc461b244ae168bcb92750d8d15c7d858eb245cdf5d96abdb2b18c238fe14c6cb5598c4ab8b9265ae610a71081d558bf965a9ba86194ceec278be0cd753ae2b5308d552cda30750a56c9d2c7d469d69216f2749203e86099c5e7571ce3b99b9968d32bd5ce8a43493b5459d87c712c2344a6846cb9458dd78d18c08a1e6264361ed05302a672881a17aeec274ba038553e68479bfe2d6985713dd47d715a84efae3065dfbbfe33a4418e80dbe779ddcfd6aba6c02b27727f71fdd953780e8b57ff7e5bf731e411c50bf0b447769f8934d72243b4fb4d017596f45de60fda7faa1377d847c1d8221fc33ea5255b4c6b58bd3a6afc22078d0de4a1cf064435fa3ef3bd1ec47821cd8aea0358f9ea831aad0d44c93e34255e22313879ae95659e0de1a62476a8d0310a00f34106ca8b5a05b9c5faa4a7cf4cef428afdeefde4b693fb3c9352e652eeaf3e48533dda06116b671e8faebc168e68b79f0e4fc7485fc8cf9f9eec9774b8ada22256137421c8c1da2f5eb5864b0e665fe3d749673b4dd46e4352d9da719adbbdfe92f2dff720496450321e8595a853ed579edee3005ba12e88b5c2ae466359fdf780c784ca684028c0e1e4c401abbbd439bcff00a1b37e14b37c7335b0ab5a76df48cff3a78066b119d9974df63c6ddcb78d4b9e692fcfa3dfb03fd609549
7	beside	111be6356fb34c4a55c9412f5e177905c7c10c74b491840f2738e4912ae840d9	\N	\\x7801d557cb6edb3010bcfb2b88dc25598a1fa96e4d73e829089a63510834b996084b24415271d5a2ffdea51e760cb86d2a44300c5f249a5eeececed2334110cc2c2ba0a229e1a6e18aeda22f900b25a397785681a39c3a9ace0819760d6bd183627505d2f98d84485a414a366005077c2d690346c8fc01b6420a87f17c0c42e8c63a43994bc99696d6efecf7a6c40ae7dfad5386e6f0a44ac19a94b012a871f0ddcd86441ccd337e086b53f2f51bfe8cd6ae5046fc009eeda0e9568333c57d56d63d19b515258caa90a94ad76da213963860dc61a6f6124c3694ef1133aa44b08754ce95f9086eafcc6e54894a6d10d009cb63829b94c4f3b0fd44c96276ae847b6ac003513e2a3eb2579e9813d651209732dd91e9d80ee422e706ac45fafb06064476cd484987ec61438b41122fc34512c62b9fec69e37150762931fe0b4290f67f66f53b60955c0356090295dc86c9faa258edaf8157711287c912b15a2c2e0bd635102b8e9158eb245cdf5d16abdb2b18c238fe10c6cb5598c4ab8b8265af610a71083d548bf965a1ba86194ceec278be0cd763ae2b5b08dd50c3a307d0a56abc2c7d469de9206f4649207e081378bdeae34c3b99b951b5b6bd5c68a53453d2a1cec3630961062534a3654a9ca93bd18c1982e4364361dd096054ce500243f5dc866975070aa7cc0bf37ec5afb14e4db48f9e15a84efae3065dfbafe3da8c30d0abfcde7472fbafe9ab09c8de9fdc3ffa2b6f48a2d7feed977faff990c431eb3725d15e1addc93639919d6728f449c9adc86becff583ff48a4788d73118a63fa12ed545633d5dbc367d11169307d35989633ed9c06bf47d67c87e22c881ed0a2a79f444add585a1769c1c17ba12ef593848661aed8077d61019690c0e40803ed042b0a1ce8169707ea92ef1b573a62775f57ef75e29f7918dee71a9722127ac0b435b914b5a7a3f71b0cdd80a70fd85a1a92b52128163d1900cfa8546a347f43e170310a2c154023d8992e8226e56f3f94dbbec5d65a685068c0e1d470252bbed1d5a6c86d7c76193f737ff07af2d85ded3267a465fff0cce61fa76d4658c85b63fc65ca61a1af2f3d7ec3777fe7c4c
8	beside	35e98b46c4b6eed23668e302e710b99d8a8d15851bc31a319feb303ec1758703	\N	\\x78011d8a410a80201000bf229e153d457f11095bd712a48d753bf4fbb4d330c384a01d0ab84647bdb4517af17e02881941ec49dcd1ee4904f9b55dd2dd8662af19e7566afbf94859b78c402347a3428c1f06ba1ce3
9	failed	ee207b467f7d617d783347f9f8fea601e88530d8100550550611da2c97847508	13	\\x7801d557c16edb300cbde72b74ebc976eca669ebdbba1e762a8af55814862a31b610db1224b99937ecdf474976d200193618358a20175b91a9c747527c8ca2686158050dcd09d73d976c9b7c8752c836794b170d58caa9a5f9829071d7b896dc4bd635d05ab79190963690930d1535707cad690f5ab4e53d6c442b2cda733608a1afc66acaacdb5a1bf06b7e6f4e8cb0eedd58a969098fb216accf09ab816a0b3fec6204626959f0bd599393e717fc8c76b6925afc045e6ca10fabd109e7be49631fb5dc20ce491e32d9a8ce039dd1c591e3c099dcb5a08bd17dc7a29635923d4239e5e603d89dd4db492e4af98a84cee81e135ce7245dc6fe9764abc52917eea8064744fd20f9c458b9c49cd18f0a73a95021990ee1c05ce45c833198fe2e8011694330721298dd6ff01c64e955bccae274edc01e071e0b659b13edfe2004d3feef59fd015c65e7c055864465977176fda95cedce21afd22c8db32be46ab5fa5cb2ce21b1d21413eb3a8baf6f3e97abcb3328c234bd8dd3ab759ca5eb0964994aa89e6a9edc83aa65ef04c4132a020b653fa959f1bd99c8290b67675e0e4b2d3b65868bdd8b1e265b8b1d198f258469143b8cd639b1ba0bf2061142cb4d8112284815d4385003439de3cdf80e812dae70126a58716b2cdcfbfed1d510f691e1b85181fceb388f080dbdc3f75f27fbfbcd7913919d3b7978bc3c6ad32702f955b61b51761885a9faf15d3411f5c1188298b18fabaa372e68ae97bf0983e04107e975c0538cd9853af944ca1d091860db8ab63c79a4c6a84a53334dbe08d5888f741c5aa67b65519f7b2d8979a135a66184bad940f44aad05dd63155155433428f923bf86f9e04e4afb854d8e712d4bd1cee3175656870386b09d433714a9d12c04f330c3f0d3110a991eaa6c20df2d296aab9cc4be1038183b5a1bd631c860cdf3f22576b4eec71423ca96d64e03ee479db0335c1de1e3042c4b464250e3f5ca0d51389bf8c314e846a08e74ae908bf572791130e03185120ad03a043011e9ece606c7228617c97e137e74715cb3b5503bda274f386a3d81b588ce4cba75d163ff311e35575d925fbf177f00c2dbb5e4
10	failed	a37ff346a5bf91fec41f8317db2bf8516130c6917c53b077a8de9849f32ff708	\N	\\x7801d557416fdb2014bee757a0de6dd76e9a76beadeb61a7aa5a8fd3645178b1513020c0cdbc69ff7d0f1c278d94699b55ab8a72b1097e7cef7b1fbc8f2449168e35d0d29270db73cd36d917a88556d94bbe68c1534e3d2d17848cb3c6b1ec5eb3ae05e5c34442146da1246b2a24707c95b4072b547d0f6ba184c778210621f4d9794b990f53a5833816e796c4091fde9dd796d6f0a8a5607d4998046a3d7cf78b1188a775c5f7615d49be7ec3cf68e71b6dc50fe0d506fa61343991dc67edfca3d56bc4392943a65bd345a033a638723c70a6b70a6c35a61f58b45a22d9239453693e80df6abb9994a2d6cf48e88ce931c16d49f2cb34feb262b93895c21db51088900f9a4fac5510e68c7934a8a5ca0c623a9403b5c8b905e750fea180095143314a3230bb9f103928f2eb7459a4f92a803d2e3c6e944d496cf8831094fd9f55fd065c15e7c055814415576971f3ae5c6dcf41577991a7c53572b55cbe2f59e720ac3c4761dd14e9cdedfb727575069b30cf3fa4f9f52a2df2d504b25c234c4f2dcfeec148dd0703f1848ec043dd4f6a567c1f2609ce22c49997c3daeaceb8ddc11e4d0fd3ca6347c665096116cd0ea3b224de7683bd4184a0b8abd0020d56053d0e4860e8736298d821b0c555c142ed46c2181bcefdf818f610f691dd72a303f9db721111067a85ef9f568ee75bc82621dbb0f2eef1eaa84d9f28e427add6a2eeb00a53fde3ab6a22ea43300431631f374def42d1422f7f110ec1831dacd7014f35aa0b7df209c91d1918609b862a9e3d52e74c63a99b665f8469c55b260e8ad9de78f4e7d14ba22eac451926e89b1d24cfd47bb03dee226a24243b277f94d7ee7e70a7b5ffc826d758ea5aa819f3c2d04ed48acae0bff6d70c2c05f8ddb635d43725c9c0b36c0483feaa37e10283f7020c408801db0af4705aa1ebba585d5e5ec4e1c05c6584018c0e834612d2f9f52d5e49186ee2fda4e007ff8f5e2785d9d23e7bc27bd013788ff0dda42311138d1f2396b9360df9f96bf11b9b809ce0
11	failed	d43a9d23984b273e86fa815b4bdcd074ec5962a387fa23ce239b197723d4cca7	\N	\\x780115ca310e80200c40d1ab90ce343019ef4288c1529484882975f0f6caf4fef04300c74aaef5a35e600d2cde4fa88b30299e5d06e39e54595e1c9aeec658526d9ce756fe983e5ad62d33f5cc10ad09317e05ce1cdc
12	failed	7d975255d61268a0522c214894512709761a706cdf017ae2feb4e2af4a7910b8	1	\\x780125cacd09c3300c06d0bba7f00035a1574f911554f94b1d1aff20a90d2674f704727cf094330a459fc09f4c354d33a9f62ca4987e4f576094c8ae70542a88be627f78b526f4c6dcb69547f4a82ca31bd2dfdd979b08d8426ea2082f32838ca0467dbbf85d16883b01939c2ca5
13	pruned	8000424f4c1e1cb187bb5ab0d0bc5a795640a3174e4ffbe80ff730563348d7e3	11	\\x7801d5563d6fdb3010ddfd2bb86592e48f2448b435cdd029089a310804863c4b842992204f49d5a2ffbd47517262c01d2ac428622ff6813cde7bf7f12ecbb245100db4bc64d2f7d28a5df11d6a654df1b25ab4805c72e4e582b1e9d4642b6eade85a30180f3266780b2573be3320e9afe63d7865ea5bd82aa390fc451f8cf1e7809e0b2cd996eb00836d385bb2a030fe0f683dafe1de6a25fa92090ddc23fcc0c51408f2ba927bb7a1648f4f748d77d858af7e82ac76d0276b7604dc371bf0dedbadd2300ba1b0adeb86404f0871e23871665f0df86a821f59f45613d95328c760de01be5abf9b05d1da6722f484f08492be64ab653e7c8bf5f9e218841bee2112a1efac9c972b130bf384381aaaa5caa5627a4b07d5a2941e42a0f28f09cc9849c9285962767f60e060b55ee557e7f97a7349670f134f8db22b998f2818a3b2ff7b557f0057ebcfc0d56a9d5fe457ff99a9cda760ea3abfd8e4abeb98d67fadaad028d7732f8b5b70daf671c83fd0d446a8fb590345eedd6471fa473fa7a5b0f6b673616cbe4198b8d6f42463c2931809ae4b86be4bf243d18191a122894a52421a041a04e9d0e062e8601a415594b8d132d8525f0e3f23cbf143bdbe39186647a8fc6acd56d51df1305765dff129de3b3b2da9aee943a42e4ebc17152878f049a0dee2a9a6fcd2367124e907631ec4aee14616f73c04d7781ee60d79e55af591c0c108df3ba42d66505c5259efa91832da2e0264cf1c117c4f75cc9d866cdc770e708d5bd48db5f845ccceb1b6b532a7c145f5ddd11aa6b08bd18d6d12bc48c97cdbf4e4f10ca54a4ffbde487e34398e4dc9f2a11124049cbc8d764a3260785c3ee591d6fd3217546db88e4ab95f08d3c9d4bce97201288a891052c2ded1f61337b8e13107be55a4b6110a3bbb5c2ecf520cf44ce59403f20e29988c75b8bda2e551503bef0fd1a5b3c39ed5cabdf2be78a085f4011029ba306bee11e2e1323d75aa2d84fdfabdf8037fedd3f5
14	pruned	13ab0219031986180c25df35d9ef4c748bf81a5a58a329fcaedb616af42972ba	\N	\\x7801d5564d6fdb300cbde75708bddb6e92b6687d5b97c34e45b11e87c15025c616224b8244b7f386fdf751729c36407aa85163687289099ae17bfc78ccb26c1144032d2f99f4bdb462577c875a59533c2d172d20971c79b9606cf41a6dc5c68aae0583d19131c35b2899f39d01498f9af7e095a937b0554621c58b3118e38f013d1758b22dd701922df9962c288ccf01ade735dc5bad445f32a1817b845fb81813415e57f2103694ecc74f7a8d77d858af7e83ac76d00fd6ec04b86f36e0bdb75ba5611242615bd7a544678438723c70669f0df86a841f59f45613d9632aa760de013e5bbf9b04d1da472274467842495fb2e5799ebec5ea62710ac22df71089d077564eab95898d39238e867aa9724333bd94837a514a0f2150fbc70266cc0cc528d9c0ecc12171b05c2df3eb8b7cb5be22dfe3c2d3a0ec4ae6230ac6a8eddfeeea0fe06af519b85aaef2cbfcfa3f33b5fe144cdde497eb7c7913cbfadeae0a8d723df7b2d880d3b68f4bfe81b63642dd4f5a28f210268bdb3fc69997c2dadbce85fdf02561e25ad35f32263c8991e0ba64e8bb417e283b3032542451839490068106413a9442a409a615544589db5b926d98cbf433b21c3f34ebeba3657682caafd66c55dd110f5355f6159fe275b07949754d1f227571e33da940c9831f04ea259f6aac2f5d13278a7eb4e641ec1a6e6471cf43708de761da9257ae551f091c8cf0bd43ba6292e292ca7a4fcd90d17511207be488e07bea63ee3464fb7be708d7fe8abab516bf88c935d6b65666465c143aa8da701d55ea708c512900f783e33836252b00453126432ad43bba3ce2f544011873e05b454a670d69d3d9d5f9f9593247e62aa71c5074187a24631d6eafe97013344a07a7a89aefa33768e59e795f3cd0b5f80088947e98b49408687a997299eb44607ffe2efe01d657bb1a
15	pruned	4a433596f057ca4db5e51ae3e8ed44ada73523dcd7ff89d06a2b9ff29d31cdbe	\N	\\x780115ca410ec0101005d0ab883561d5f42e228df2b51241c658f4f68dd5db3ce7a4014753fb539a54421ed66e62274264fd769ad07760067d7a7218157ad06a48bbe552b15d9ccf2b21f604e99570deff0b631d05
16	pruned	e76b41b92c61798bf546fe56f508a6aa12c75b09083624dc7141734339f5515a	9	\\x7801b556b16edb3010ddfd15dc32c9b2d32008b435f5d02908ea310804863c4b842992204f71d5a2ffde23293931ea49a8e049c4f178efbdbb772e8a6215440b1daf98f483b4e258fe80465953be6f571d20971c79b5626c8a9aceca9d157d070663206386775031e77b03923e351fc02bd3ece0a08c42ca177330c6df027a2eb06207ae03a4b3145bb1a0307e07b49e37f06cb51243c58406ee117ee26a2a047953cb73da50b19757bac67b6cad57bf40d64718f2697105dc771bf0d9db83d2300ba1b09deb53a10b429c38ce9cd993015f4ff0238bde6a227b2ae51acc27c093f5c75910ad7d234217842794f415db6ed6e957dedeadae4178e41e2211fac9ca795a99d8980be268a9976a979be9430eea45293d8440ed1f052c98c962542c337b0e481c6c6fb7eb87bbf5ed977b8abd149e06e558311f5130466dff6f578756b9817b59eec0693bc471dcd37c2134c32ce9e5394d11e734e65996c2c6dbde8591a664215ceb845778b20dc175c5d0f7d928a83a3032d4642679e8c92d408320c7482912d7d42c7534a3f1249d6d2f1aec0a69dfac39a8a627c4739def1373e273b265e973ed102249b10bdf55a0e2c167d3f8a8a79e942487bf22efc5e88138b6dcc8f29987e05acfc3bcc153ae53ff133818e10787b459920b92f3794fb217e4f8018a378e087ea08ee54e4331eea00b5ce3667bb416bf8ad91a6bdb28b30c2eeae49e56a3c23e56370e44f0228bf9b17de57585a2414c3b78243f1e388e6dc5d6699e24049cb28de724326078d9bcae23ade7051b5463b88eee755ed239328f69be5c028a722284dc6970b491e2564d8f39f09d22078c50d8cdfd6673936ba0676aa71c5076c8c514acc7c3032d7441837b0ea24b379733ab953bf1a1dcd39f843d2052756196c311e274999e5a6a33b0df7f567f01571712a5
17	pruned	9aef878686dd12c7cb37044f94862338702db7bf9def623dc0e202bfbd0f664b	\N	\\x7801b555c16edb300cbde72b84de5d37595114beadcb61a722588fc360a812630b912581a2db79c3fe7d941ca70d9acb8c193e99a008bec7c7c7a2285651b5d0c94a681cb45787f21b34c6bbf265bdea80a49624ab951053d6142bb75ef51d384a894238d9412502f60e34ff5a39001ad76c616f9c21ae976a08219f23a1545489bdb411722ce756221a4aff913cca0676de1a355442599048f093565323249b5a9fcac64a7cffc1cf644fad47f30b747d80618c1617c07df59176e8f7c6c22c84ca77a1cf8d2e0871e278e4ccbf3ac07a829f58446f99eca9954b301f815e3d1e6641f4fe99095d109e321a2bb1beb9ce5fb9b95d5d82f020111211f6d1eb79b37249980be268594b7518c5f4360ed6a2d60831b2fcd3000be1c661546264f6949039586fd6d7f7b7d79b4f779c7b3e785e94432530a1108265ff51d5b1356190a8cb2d04eb87b48e4fbc5f04cd306bf4fa54a6487b9aea2c4b6183be0ff14853b610696dc6ab906d43495b09c27e340aee0e9c8e359bc9b8f4ec166041b163e412996b164b9dcce818c9b1f599c02e90f6c5bbbd697a463cd7f9de31a7de175b96bed00e31919454f86222370f389ac65b3ff5344976f80be33d5b3d5087563a5dee648ca14519e72d9e099df99fc0c1291c02f165c92ec8ce87c8632fd8f12314cf92087060c5ca60a138dea0335cc7cbf6e03d7d56b3676c7d63dc82b8b874348d933639c7e940f228808e2b1224b5952881543935c3ce3004be06e9a2710121026067d87dbc63bfb8babbb9b9cae1c45c1d4c00ae0ea3460ad1d3fe9e8fa9e2a539252527fb377aa335e1550ee5135ff02720e2f6e32cfb61a0f931f7b2946d8bdf7f567f0173d6f9bb
18	led	d91f7276ce5da19bdbd54ade70465ea5a88310c71c03ae49cbbf4148a6f64fe0	13	\\x7801d5574d6fdb300cbde75708b9f432db49fa81c6b7753dec5414ebb1280c45621c21b2e449723bafc87f1f25d96e82a517a341d1e462d314453e52e453922413cb3650d19c70d372cdb6d92f288556d9f37c5281a39c3a9a4f08e9b57a5976ab595381725e9110452bc889048ecf92b660842a6f612d947068cc1b2084aeac3394b99caca9b410644137275638ff6e9d36b4847b2d056b73c22450e3e08f9bf45e385a167c306b73f2f884cb68e336da88bfc08b2db4519a1c89eca7b6eedee8b590302a3ca6abba098e9e30c41ee088997e51608a3e7c8fa2d11291ee5d3916e61db8176db6a342d47a85809e303c26b8c9c97c96867fb6b8981c0be1861af040c83bcdc7e54af9aa3c611c1baca5a28ec5f4960eac45ce0d588be5ef1398101593919388eca01030982fe6e9f545ba38bf42ddc3c4e341d9e6c4f82808c1b27fbfaa3f00abc557c06abe482fd3eb4f46eafc4b20b54c2fcfd3f9d2a7f513abeae22b60b54ce757b374b91c0195dd88baa58667b7504bddfa61f88003ce41d98eeabd7c3093f841e9ed9c16c1d2e8a6b65d9f0a039c4a895b12c20cce6d46654e9c69e2a446ef40715be0348f5317c735486038b28389d0ecb05b179e0a7492208b2d2c3cfa82f43f6c8bfe20758f8723e008aa3fb45a8bb24148c612933d68d9beb1d3e25b6f5aeb51f473e25958741e4c1ceb6ffe147daa91801dc9ffc17004b6dd50c5b37b6a6dbd31d48e1b8da2aec447060e8a99b676c8fd024f416e620cd645829ccc42b2a2ce8169b1a4692d21f114f120a88e75de68edbeb3d10996ba14ea3441619d37c85c856bbc77dd71b186c54cbe31637e3c3db1cc233fee90f7a29aba4d4ed2700a3858d75bebe4986170f671f6947a4c07fe6b45a9a8f4e462e0d051331ee2b83803c7b21e10240f6d8d84d193deb0590da61248507c28e4ec6a363b8b3ee036452d6a40eb109d4948e3d6d7c8b7191eeb4109179d1d64d04a51bfd0367b400eff00cea1777654ffc388c362dcea54c48dbcee82efafd3789f99e664fa8effd36f64da0f4f54db5fd18bf7ef405edd273958ec02f1b2ff2309c6fabb10be84cb50af19962390d31d4a0eae43fecb70210a9f7d650463cab75d3c5f0e6c78af842a9ca8a05821f90450c533989070fc3a43bbbf1b012e6874029c360aaf6058138374b7db4dfe013e66966b
19	led	3fa66ffbb64e6b4d9eb3b519ba7f7f564b15fc6c4ae1f60d2438c140dc43b1e2	12	\\x7801d5564d6fe32010bde75770cbc9769c7ea8f16dbb3deca9aab6c7aab2284c6c140c0870bbde5fbf03d86923652f56adaaedc54130cc7b33cc7b5996ad1c6ba1a315e176e09a1d8adfd008ad8ad772d581a79c7a5aad0899764d6bc59d667d07ca878d8428da41452470fc9674002b5473077ba184c760210021f4c5794b99afc89e4a07712deead88133efc765e5bdac08396820d156112a8f5f0c7afa62c3c6d6a7e0ceb2af2f48cc768ef5b6dc55fe0f50186b49a9d41f64b3bff60f55e4898058fe9cef431d105214e0427cef49b025b4ff0038b564b647a4ae51ccc7bf06fda1e6641d4fa05095d101e13dc56a4dce4f1bfd85eaece41b8a5160211f25ef379b552a12b17c4d1622fd52635d37b39b01739b7e01cb67f286046542a464512b3c70d9183725be63797f9f6e21af79e161e1fcaa12236a02004dbfeff5dfd095c6dbf0357e536bfca6fbe98a98b6fc1d42ebfbac8cb5d28eb1776d5e577e06a9797d79b7cb79b41956b8519a8e5c51d18a98720868f28701e9a61d6ece5c7305910ca106759061bab7be3c63915059c4a895712c22cea36a3b222def649a9313b50dcd5a8e6497551ae410243c98e21e2b0c3695d072b30aec4b534c2e26768c8f08763313ca4f1f35402ceb0fa53abbd687aa464ae31f9402dfb186c597e4d3bb8c062d08957e13079b049d6dff3a9a752a3013b53ff1371047668a9e2c50375ceb496ba79d2284c273e1338286607e3d1fb459f82dec45aec8b0c3d9983ec857a0f76c096a64642162ce209a8d175de6aed7fb0d90596ba116a1950d8e73d3a57e1fb90ddf85c9c65a992efce989f2f4f6af3e48f47e6c392a1bead481e5f0107e7a768e33a5618bc7bda3ce781d3a3ff75a25154067371f4d069677ac4e970019e151321681e0683863198de789901db093428010a595f6f36eb94035e531b6100a3434a2623bddfdfa0df66f8ac8f9bf0d0faa4824e0af34687e2113dfc23788fd9b959f30f11c7c378d582c6cd82a1022de85aabf5ea1f73ad353f
20	led	94ea66bc8234ea3dc8ef558f2bd8f8692ba3f8ac90806fc9760e8a6f813bc5ec	\N	\\x7801d556b16edb3010ddfd1544964c922c3b09626d4d33740a8c662c0a8121cf12618a248e5452f5eb7b942c27069ca1428420f6221fa8f3bd77c77b2f499285173534bc60123b69c53efb0995b2267bce170d042e79e0c582b1f1d418cbeead681b30211e64ccf0060aa641d2b3e61da032d53dec94518192c5048cf1271f908b50b01dd71efa587fb6605e85f8db078bbc82add54a7405131a3806f8131663158157a53ca6f505fbf59b5ee36da82daabf20cb3d7443343983ec87f5618b76a7344c82276ce3dabed019218e040f9cd91703588ef0238b6835313d96720ee60384178bfb4910ad7d224267842794c482e5cbb4ff66ababc53908771c2112a11fac9cd62b13a772461c35cd52e986617a6d07cda29408ded3f8c70626cc0ccd28d8c0ecf140cf41becad3dbab74b5bea1b3a78da78bb22f1846148cd1d8bf3fd51fc0d5ea2b7095afd2ebf4f693995a7f09a636e9f53acd37b1ad9f3855575f81ab4d9adf2cd3cd660255be56aee328b37b70da76510c1f49e00254dda4dd2b8f6992289431cfbc0c56685be70f7baa1770ae35fd25630249b705d7050bd80e4a4dd58191be24351f5497e41a340892ec3e45bfec685b97d10a1c227d6c5861fd631cc8f8a1b5182fd2e1f15402ceb0fadd9a9daa5aa264aa317943ad789b6c5e7e5dddf9c862d48967e5a978c041d65feb29c75693013bd3ff137104b1afb991d9967bef6ae47e9a342ad7a88f040e4660e70279bfdea7903741a4b948c89379489e7808801d8d34771a9268114f401d5ce79db5e19b98dc606d2b65660445a9bdaa0cd751d88ffe95fa00e170811c0f75c13208221b8b21e1ee1c99b568382901630eb051640eac2139bfb8592e2ffa70a4ad74ca016587614012d686dd2d795d4157ea78281a8dffe0d66be55e78973d92bb7e8410a8763f693311cafe652a64464b85e0b822737869cde5e21fa97c1b0b
21	led	01e7de266e0845d826de0789bba458adf5d19c27ea48d1757d2b148f7480dcbf	\N	\\x780115ca410a80201005d0ab88eb065d45771109d36f09d2c4382dba7db87a9b178275d0ec3a9fedb68bb1abf793cc22c84a17cb001d4915f2d1d0f474504799a7b68ee9ab75db0b3217d8b89810e30fa78b1bac
\.


--
-- Data for Name: delivery; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.delivery (outbox_id, target, attempts, next_try, delivered, error) FROM stdin;
\.


--
-- Data for Name: design_object; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.design_object (site, kind, name, digest, uses, version, revision, policed_version, policed_set, by_policy) FROM stdin;
running	boot_action	login	8c1223fa5e8d7fa576caba34f9df1c20a78424e3013289e22ced297035824b1a	[]	1	1	\N	\N	\N
running	configuration	deployment-configuration	111fc64ed58ffc7338f3a323f62eddb69b8e0c2bf4e36824671cd987afdeeb4f	[]	1	1	\N	\N	\N
running	deckhand/Passphrase/v1	ipmi	9d1ded6b6b5e35b7c0245356a5d58555307b0571e29128d731adfbeb80a53c6e	[]	1	1	\N	\N	\N
running	host_profile	compute	370770377da1f1c7703d62a91208dc58f15e59b3c4bae90f0cdaf6bde0b6950d	[]	1	1	\N	\N	\N
running	network	oob	97a412a7ad838184c248e4a22987dc7ecc5859224243c64c414d1bd6f49a4ddf	[]	1	1	\N	\N	\N
running	node	c1	2cecbf2b80112e1dd1bad00c39a867b7a699602ed56630647859de633d4e2b4f	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
running	node	c2	6c05f499426c360304bcdec316716099c5ec1f28e3735beb2e48be22a2d61c3b	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
running	node	s1	0a7b5557e7893b604e4f9ad04f20ac7bd87586f3bd992578960ec1bd5f581137	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
running	node	s2	b9bc2e8b9c3ccf862d9c1a8ec0d94caf3515032314be8f0d58e4020d241717de	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
running	node	w1	641e87d031e161dd82be3ce01fea7cbff7c0e5c315d12ebe37f2a2281f397959	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
running	node	w2	a8c38fdd52da51b16fff3297042305899d1f3f00b0d3b61eb58e010345288680	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
running	node	w3	44be12bc756a6dbfea7a48b17c920437868a7e7fc799b4660c8d88c15abe29cb	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
running	region	running	618e152718c4ebd97125f6dd92dc9499592ccdf555eb0f48b5368d139fdb7f71	[]	1	1	\N	\N	\N
running	strategy	deployment-strategy	699b054b24c5f5291b71823863b3efedfd1c359e4053a7a2b3d306f1f74145f4	[]	1	1	\N	\N	\N
running	site_settings	settings	f57053359e34e2d3d9d8da76988ec0d6022d36d0a773906de8dbb2c793db521b	[]	2	2	\N	\N	\N
beside	boot_action	login	ba3c7e6ec19c5d929823ffe6521ce4f06622b5fe885a3210d223cdad7ec94fbe	[]	1	1	\N	\N	\N
beside	configuration	deployment-configuration	111fc64ed58ffc7338f3a323f62eddb69b8e0c2bf4e36824671cd987afdeeb4f	[]	1	1	\N	\N	\N
beside	deckhand/Passphrase/v1	ipmi	37a7ee1412dc0b599ff44ecee88702a1bddbf28fefb4051e49bf1bb0d8b7587b	[]	1	1	\N	\N	\N
beside	host_profile	compute	370770377da1f1c7703d62a91208dc58f15e59b3c4bae90f0cdaf6bde0b6950d	[]	1	1	\N	\N	\N
beside	network	oob	97a412a7ad838184c248e4a22987dc7ecc5859224243c64c414d1bd6f49a4ddf	[]	1	1	\N	\N	\N
beside	node	c1	2cecbf2b80112e1dd1bad00c39a867b7a699602ed56630647859de633d4e2b4f	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
beside	node	c2	6c05f499426c360304bcdec316716099c5ec1f28e3735beb2e48be22a2d61c3b	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
beside	node	s1	0a7b5557e7893b604e4f9ad04f20ac7bd87586f3bd992578960ec1bd5f581137	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
beside	node	s2	b9bc2e8b9c3ccf862d9c1a8ec0d94caf3515032314be8f0d58e4020d241717de	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
beside	node	w1	641e87d031e161dd82be3ce01fea7cbff7c0e5c315d12ebe37f2a2281f397959	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
beside	node	w2	a8c38fdd52da51b16fff3297042305899d1f3f00b0d3b61eb58e010345288680	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
beside	node	w3	44be12bc756a6dbfea7a48b17c920437868a7e7fc799b4660c8d88c15abe29cb	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
beside	region	beside	618e152718c4ebd97125f6dd92dc9499592ccdf555eb0f48b5368d139fdb7f71	[]	1	1	\N	\N	\N
beside	site_settings	settings	44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a	[]	1	1	\N	\N	\N
beside	strategy	deployment-strategy	699b054b24c5f5291b71823863b3efedfd1c359e4053a7a2b3d306f1f74145f4	[]	1	1	\N	\N	\N
failed	boot_action	login	5cca130c354f205d137520d8ed5981d4e0ba414857ff7a08c364769e250e85af	[]	1	1	\N	\N	\N
failed	configuration	deployment-configuration	111fc64ed58ffc7338f3a323f62eddb69b8e0c2bf4e36824671cd987afdeeb4f	[]	1	1	\N	\N	\N
failed	deckhand/Passphrase/v1	ipmi	e96660126f9c0049551554f122b88b4802a8ebb60f35533cdd3824ecb76de6cc	[]	1	1	\N	\N	\N
failed	host_profile	compute	370770377da1f1c7703d62a91208dc58f15e59b3c4bae90f0cdaf6bde0b6950d	[]	1	1	\N	\N	\N
failed	network	oob	97a412a7ad838184c248e4a22987dc7ecc5859224243c64c414d1bd6f49a4ddf	[]	1	1	\N	\N	\N
failed	node	c1	2cecbf2b80112e1dd1bad00c39a867b7a699602ed56630647859de633d4e2b4f	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
failed	node	c2	6c05f499426c360304bcdec316716099c5ec1f28e3735beb2e48be22a2d61c3b	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
failed	node	w1	641e87d031e161dd82be3ce01fea7cbff7c0e5c315d12ebe37f2a2281f397959	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
failed	node	w2	a8c38fdd52da51b16fff3297042305899d1f3f00b0d3b61eb58e010345288680	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
failed	node	w3	44be12bc756a6dbfea7a48b17c920437868a7e7fc799b4660c8d88c15abe29cb	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
failed	region	failed	618e152718c4ebd97125f6dd92dc9499592ccdf555eb0f48b5368d139fdb7f71	[]	1	1	\N	\N	\N
failed	site_settings	settings	44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a	[]	1	1	\N	\N	\N
failed	strategy	deployment-strategy	b8381dd5ecae0ebca8ca8360099ed84f6de7a932b1e59159c72738641d763682	[]	1	1	\N	\N	\N
pruned	boot_action	login	7c52d72ada5d04e07f47c5d78612dda85fdc5c13eb562e818b584abad9b127f5	[]	1	1	\N	\N	\N
pruned	configuration	deployment-configuration	111fc64ed58ffc7338f3a323f62eddb69b8e0c2bf4e36824671cd987afdeeb4f	[]	1	1	\N	\N	\N
pruned	deckhand/Passphrase/v1	ipmi	124d9e1389f4444b2c46672cb469cede32fbb7f5b5e88128147add843f1b3378	[]	1	1	\N	\N	\N
pruned	host_profile	compute	370770377da1f1c7703d62a91208dc58f15e59b3c4bae90f0cdaf6bde0b6950d	[]	1	1	\N	\N	\N
pruned	network	oob	97a412a7ad838184c248e4a22987dc7ecc5859224243c64c414d1bd6f49a4ddf	[]	1	1	\N	\N	\N
pruned	node	n1	062d40f51c08e2fc65d2e33ab1a4a8d7d6616338aeca3c7cf90642329c2b1665	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	1	\N	\N	\N
pruned	region	pruned	618e152718c4ebd97125f6dd92dc9499592ccdf555eb0f48b5368d139fdb7f71	[]	1	1	\N	\N	\N
pruned	site_settings	settings	44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a	[]	1	1	\N	\N	\N
pruned	strategy	deployment-strategy	811e4c28d96d044733ec58bf291a7c572dd2a747f8a94ca66aa1c4d21d6a58fe	[]	2	2	\N	\N	\N
led	boot_action	login	cb10769be5f8c1be6228d56b45ee21602cc3034a0f541d5834c9426d8a536a6f	[]	1	2	\N	\N	\N
led	configuration	deployment-configuration	111fc64ed58ffc7338f3a323f62eddb69b8e0c2bf4e36824671cd987afdeeb4f	[]	1	2	\N	\N	\N
led	deckhand/Passphrase/v1	ipmi	fb0144f0a3e99443850c3c465e75ee0638d0d9173316c0952bde6cec1d77a6bc	[]	1	2	\N	\N	\N
led	host_profile	compute	370770377da1f1c7703d62a91208dc58f15e59b3c4bae90f0cdaf6bde0b6950d	[]	1	2	\N	\N	\N
led	network	oob	97a412a7ad838184c248e4a22987dc7ecc5859224243c64c414d1bd6f49a4ddf	[]	1	2	\N	\N	\N
led	node	n1	062d40f51c08e2fc65d2e33ab1a4a8d7d6616338aeca3c7cf90642329c2b1665	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	2	\N	\N	\N
led	node	n2	c72b1f0744a4e78227cf5522b4d5d74aee8e0f9bcbf718f7f48ae3f4af61ff7d	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	2	\N	\N	\N
led	node	n3	43bd463f0cc7851c61f0dc559eca601fab1193326e53a9832eb03ab82a2202f1	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	2	\N	\N	\N
led	node	n4	ce5b929ad07b6f8b1ea648438902ce354ac5befd1cb763bfc0e2befcfc3ed57f	[["boot_action", "login"], ["host_profile", "compute"], ["network", "oob"]]	1	2	\N	\N	\N
led	region	led	618e152718c4ebd97125f6dd92dc9499592ccdf555eb0f48b5368d139fdb7f71	[]	1	2	\N	\N	\N
led	site_settings	settings	b72241804ff40ed51c5551d6fba572a424d5a9f079a33710fee6ed433383e570	[]	1	2	\N	\N	\N
led	strategy	deployment-strategy	4744355961659751e0b87aa8b6b9b4e45b9ec97bba3ad405fceab0beaac75aff	[]	1	2	\N	\N	\N
\.


--
-- Data for Name: document; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.document (content_id, "position", schema, name, layer) FROM stdin;
1	0	drydock/Region/v1	running	site
1	1	drydock/HostProfile/v1	compute	site
1	2	drydock/Network/v1	oob	site
1	3	drydock/BaremetalNode/v1	c1	site
1	4	drydock/BaremetalNode/v1	c2	site
1	5	drydock/BaremetalNode/v1	w1	site
1	6	drydock/BaremetalNode/v1	w2	site
1	7	drydock/BaremetalNode/v1	w3	site
1	8	drydock/BaremetalNode/v1	s1	site
1	9	drydock/BaremetalNode/v1	s2	site
1	10	shipyard/DeploymentStrategy/v1	deployment-strategy	site
1	11	shipyard/DeploymentConfiguration/v1	deployment-configuration	site
1	12	deckhand/Passphrase/v1	ipmi	site
1	13	drydock/BootAction/v1	login	site
1	14	slipway/SiteSettings/v1	settings	site
4	0	drydock/Region/v1	running	site
4	1	drydock/HostProfile/v1	compute	site
4	2	drydock/Network/v1	oob	site
4	3	drydock/BaremetalNode/v1	c1	site
4	4	drydock/BaremetalNode/v1	c2	site
4	5	drydock/BaremetalNode/v1	w1	site
4	6	drydock/BaremetalNode/v1	w2	site
4	7	drydock/BaremetalNode/v1	w3	site
4	8	drydock/BaremetalNode/v1	s1	site
4	9	drydock/BaremetalNode/v1	s2	site
4	10	shipyard/DeploymentStrategy/v1	deployment-strategy	site
4	11	shipyard/DeploymentConfiguration/v1	deployment-configuration	site
4	12	deckhand/Passphrase/v1	ipmi	site
4	13	drydock/BootAction/v1	login	site
4	14	slipway/SiteSettings/v1	settings	site
6	0	drydock/Region/v1	beside	site
6	1	drydock/HostProfile/v1	compute	site
6	2	drydock/Network/v1	oob	site
6	3	drydock/BaremetalNode/v1	c1	site
6	4	drydock/BaremetalNode/v1	c2	site
6	5	drydock/BaremetalNode/v1	w1	site
6	6	drydock/BaremetalNode/v1	w2	site
6	7	drydock/BaremetalNode/v1	w3	site
6	8	drydock/BaremetalNode/v1	s1	site
6	9	drydock/BaremetalNode/v1	s2	site
6	10	shipyard/DeploymentStrategy/v1	deployment-strategy	site
6	11	shipyard/DeploymentConfiguration/v1	deployment-configuration	site
6	12	deckhand/Passphrase/v1	ipmi	site
6	13	drydock/BootAction/v1	login	site
6	14	slipway/SiteSettings/v1	settings	site
9	0	drydock/Region/v1	failed	site
9	1	drydock/HostProfile/v1	compute	site
9	2	drydock/Network/v1	oob	site
9	3	drydock/BaremetalNode/v1	c1	site
9	4	drydock/BaremetalNode/v1	c2	site
9	5	drydock/BaremetalNode/v1	w1	site
9	6	drydock/BaremetalNode/v1	w2	site
9	7	drydock/BaremetalNode/v1	w3	site
9	8	shipyard/DeploymentStrategy/v1	deployment-strategy	site
9	9	shipyard/DeploymentConfiguration/v1	deployment-configuration	site
9	10	deckhand/Passphrase/v1	ipmi	site
9	11	drydock/BootAction/v1	login	site
9	12	slipway/SiteSettings/v1	settings	site
12	0	deckhand/Passphrase/v1	new	\N
13	0	drydock/Region/v1	pruned	site
13	1	drydock/HostProfile/v1	compute	site
13	2	drydock/Network/v1	oob	site
13	3	drydock/BaremetalNode/v1	n1	site
13	4	drydock/BaremetalNode/v1	n2	site
13	5	drydock/BaremetalNode/v1	n3	site
13	6	shipyard/DeploymentStrategy/v1	deployment-strategy	site
13	7	shipyard/DeploymentConfiguration/v1	deployment-configuration	site
13	8	deckhand/Passphrase/v1	ipmi	site
13	9	drydock/BootAction/v1	login	site
13	10	slipway/SiteSettings/v1	settings	site
16	0	drydock/Region/v1	pruned	site
16	1	drydock/HostProfile/v1	compute	site
16	2	drydock/Network/v1	oob	site
16	3	drydock/BaremetalNode/v1	n1	site
16	4	shipyard/DeploymentStrategy/v1	deployment-strategy	site
16	5	shipyard/DeploymentConfiguration/v1	deployment-configuration	site
16	6	deckhand/Passphrase/v1	ipmi	site
16	7	drydock/BootAction/v1	login	site
16	8	slipway/SiteSettings/v1	settings	site
18	0	drydock/Region/v1	led	site
18	1	drydock/HostProfile/v1	compute	site
18	2	drydock/Network/v1	oob	site
18	3	drydock/BaremetalNode/v1	n1	site
18	4	drydock/BaremetalNode/v1	n2	site
18	5	drydock/BaremetalNode/v1	n3	site
18	6	drydock/BaremetalNode/v1	n4	site
18	7	shipyard/DeploymentStrategy/v1	deployment-strategy	site
18	8	shipyard/DeploymentConfiguration/v1	deployment-configuration	site
18	9	deckhand/Passphrase/v1	ipmi	site
18	10	drydock/BootAction/v1	login	site
18	11	slipway/SiteSettings/v1	settings	site
18	12	slipway/SiteSettings/v1	settings	site
19	0	drydock/Region/v1	led	site
19	1	drydock/HostProfile/v1	compute	site
19	2	drydock/Network/v1	oob	site
19	3	drydock/BaremetalNode/v1	n1	site
19	4	drydock/BaremetalNode/v1	n2	site
19	5	drydock/BaremetalNode/v1	n3	site
19	6	drydock/BaremetalNode/v1	n4	site
19	7	shipyard/DeploymentStrategy/v1	deployment-strategy	site
19	8	shipyard/DeploymentConfiguration/v1	deployment-configuration	site
19	9	deckhand/Passphrase/v1	ipmi	site
19	10	drydock/BootAction/v1	login	site
19	11	slipway/SiteSettings/v1	settings	site
\.


--
-- Data for Name: event; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.event (id, at, site, action_id, group_name, node, kind, message, data) FROM stdin;
1	2026-11-21 12:00:00+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	\N	\N	site_acquired	site acquired	{}
2	2026-11-21 12:00:01+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	\N	\N	operation_begun	operation 1: verify_site	{"op":1,"phase":"verify_site","attempt":1,"round":0}
3	2026-11-21 12:01:02+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	\N	\N	outcome	operation 1: 0 succeeded, 0 failed, 0 unknown	{"op":1,"phase":"verify_site","superseded":0}
4	2026-11-21 12:01:02+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	\N	\N	operation_begun	operation 2: prepare_site	{"op":2,"phase":"prepare_site","attempt":1,"round":0}
5	2026-11-21 12:02:03+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	\N	\N	outcome	operation 2: 0 succeeded, 0 failed, 0 unknown	{"op":2,"phase":"prepare_site","superseded":0}
6	2026-11-21 12:02:03+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	control	\N	operation_begun	operation 3: prepare of 2 nodes	{"op":3,"phase":"prepare","attempt":1,"round":0}
7	2026-11-21 12:03:04+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	control	\N	outcome	operation 3: 2 succeeded, 0 failed, 0 unknown	{"op":3,"phase":"prepare","superseded":0}
8	2026-11-21 12:03:04+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	control	\N	operation_begun	operation 4: deploy of 2 nodes	{"op":4,"phase":"deploy","attempt":1,"round":0}
9	2026-11-21 12:04:05+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	control	\N	outcome	operation 4: 2 succeeded, 0 failed, 0 unknown	{"op":4,"phase":"deploy","superseded":0}
10	2026-11-21 12:04:05+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	control	\N	group_finished	attempt 1: success	{"criteria":[]}
11	2026-11-21 12:04:05+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	compute	\N	operation_begun	operation 5: prepare of 3 nodes	{"op":5,"phase":"prepare","attempt":1,"round":0}
12	2026-11-21 12:05:06+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	compute	\N	outcome	operation 5: 3 succeeded, 0 failed, 0 unknown	{"op":5,"phase":"prepare","superseded":0}
13	2026-11-21 12:05:06+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	compute	\N	operation_begun	operation 6: deploy of 3 nodes	{"op":6,"phase":"deploy","attempt":1,"round":0}
14	2026-11-21 12:06:07+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	compute	\N	outcome	operation 6: 3 succeeded, 0 failed, 0 unknown	{"op":6,"phase":"deploy","superseded":0}
15	2026-11-21 12:06:07+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	compute	\N	group_finished	attempt 1: success	{"criteria":[]}
16	2026-11-21 12:06:07+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	storage	\N	operation_begun	operation 7: prepare of 2 nodes	{"op":7,"phase":"prepare","attempt":1,"round":0}
17	2026-11-21 12:07:08+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	storage	\N	outcome	operation 7: 2 succeeded, 0 failed, 0 unknown	{"op":7,"phase":"prepare","superseded":0}
18	2026-11-21 12:07:08+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	storage	\N	operation_begun	operation 8: deploy of 2 nodes	{"op":8,"phase":"deploy","attempt":1,"round":0}
19	2026-11-21 12:08:09+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	storage	\N	outcome	operation 8: 2 succeeded, 0 failed, 0 unknown	{"op":8,"phase":"deploy","superseded":0}
20	2026-11-21 12:08:09+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	storage	\N	group_finished	attempt 1: success	{"criteria":[]}
21	2026-11-21 12:08:09+00	running	01M7YZMHG0G044V3FKE1DRP8TQ	\N	\N	action_closed	action success: every group succeeded	{}
22	2026-11-21 12:08:09+00	running	01M7Z03F18K3SZW2GYDZSYZXGE	\N	\N	site_acquired	site acquired	{}
23	2026-11-21 12:08:10+00	running	01M7Z03F18K3SZW2GYDZSYZXGE	\N	\N	operation_begun	operation 9: verify_site	{"op":9,"phase":"verify_site","attempt":1,"round":0}
24	2026-11-21 12:09:11+00	running	01M7Z03F18K3SZW2GYDZSYZXGE	\N	\N	outcome	operation 9: 0 succeeded, 0 failed, 0 unknown	{"op":9,"phase":"verify_site","superseded":0}
25	2026-11-21 12:09:11+00	running	01M7Z03F18K3SZW2GYDZSYZXGE	\N	\N	operation_begun	operation 10: prepare_site	{"op":10,"phase":"prepare_site","attempt":1,"round":0}
26	2026-11-21 12:10:12+00	running	01M7Z03F18K3SZW2GYDZSYZXGE	\N	\N	outcome	operation 10: 0 succeeded, 0 failed, 0 unknown	{"op":10,"phase":"prepare_site","superseded":0}
27	2026-11-21 12:10:12+00	running	01M7Z03F18K3SZW2GYDZSYZXGE	control	\N	operation_begun	operation 11: prepare of 2 nodes	{"op":11,"phase":"prepare","attempt":1,"round":0}
28	2026-11-21 12:11:13+00	running	01M7Z03F18K3SZW2GYDZSYZXGE	control	\N	outcome	operation 11: 2 succeeded, 0 failed, 0 unknown	{"op":11,"phase":"prepare","superseded":0}
29	2026-11-21 12:11:13+00	running	01M7Z03F18K3SZW2GYDZSYZXGE	control	\N	operation_begun	operation 12: deploy of 2 nodes	{"op":12,"phase":"deploy","attempt":1,"round":0}
30	2026-11-21 12:12:14+00	running	01M7Z03F18K3SZW2GYDZSYZXGE	control	\N	outcome	operation 12: 2 succeeded, 0 failed, 0 unknown	{"op":12,"phase":"deploy","superseded":0}
31	2026-11-21 12:12:14+00	running	01M7Z03F18K3SZW2GYDZSYZXGE	control	\N	group_finished	attempt 1: success	{"criteria":[]}
32	2026-11-21 12:12:14+00	running	01M7Z03F18K3SZW2GYDZSYZXGE	compute	\N	operation_begun	operation 13: prepare of 3 nodes	{"op":13,"phase":"prepare","attempt":1,"round":0}
33	2026-11-21 12:13:15+00	running	01M7Z03F18K3SZW2GYDZSYZXGE	compute	\N	outcome	operation 13: 2 succeeded, 1 failed, 0 unknown	{"op":13,"phase":"prepare","superseded":0}
34	2026-11-21 12:13:15+00	running	01M7Z03F18K3SZW2GYDZSYZXGE	compute	\N	operation_begun	operation 14: deploy of 2 nodes	{"op":14,"phase":"deploy","attempt":1,"round":0}
35	2026-11-21 12:14:16+00	beside	01M7Z0ENE0YHM3KR54HQA28J0A	\N	\N	site_acquired	site acquired	{}
36	2026-11-21 12:14:17+00	beside	01M7Z0ENE0YHM3KR54HQA28J0A	\N	\N	operation_begun	operation 16: verify_site	{"op":16,"phase":"verify_site","attempt":1,"round":0}
37	2026-11-21 12:15:18+00	beside	01M7Z0ENE0YHM3KR54HQA28J0A	\N	\N	outcome	operation 16: 0 succeeded, 0 failed, 0 unknown	{"op":16,"phase":"verify_site","superseded":0}
38	2026-11-21 12:15:18+00	beside	01M7Z0ENE0YHM3KR54HQA28J0A	\N	\N	operation_begun	operation 17: prepare_site	{"op":17,"phase":"prepare_site","attempt":1,"round":0}
39	2026-11-21 12:16:19+00	beside	01M7Z0ENE0YHM3KR54HQA28J0A	\N	\N	outcome	operation 17: 0 succeeded, 0 failed, 0 unknown	{"op":17,"phase":"prepare_site","superseded":0}
40	2026-11-21 12:16:19+00	beside	01M7Z0ENE0YHM3KR54HQA28J0A	control	\N	operation_begun	operation 18: prepare of 2 nodes	{"op":18,"phase":"prepare","attempt":1,"round":0}
41	2026-11-21 12:16:19+00	beside	01M7Z0ENE0YHM3KR54HQA28J0A	compute	\N	operation_begun	operation 19: prepare of 3 nodes	{"op":19,"phase":"prepare","attempt":1,"round":0}
42	2026-11-21 12:16:19+00	beside	01M7Z0ENE0YHM3KR54HQA28J0A	storage	\N	approval	attempt 1 asks for approval before: May storage go?	{}
43	2026-11-21 12:17:19+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	\N	\N	site_acquired	site acquired	{}
44	2026-11-21 12:17:20+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	\N	\N	operation_begun	operation 20: verify_site	{"op":20,"phase":"verify_site","attempt":1,"round":0}
45	2026-11-21 12:18:21+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	\N	\N	outcome	operation 20: 0 succeeded, 0 failed, 0 unknown	{"op":20,"phase":"verify_site","superseded":0}
46	2026-11-21 12:18:21+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	\N	\N	operation_begun	operation 21: prepare_site	{"op":21,"phase":"prepare_site","attempt":1,"round":0}
47	2026-11-21 12:19:22+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	\N	\N	outcome	operation 21: 0 succeeded, 0 failed, 0 unknown	{"op":21,"phase":"prepare_site","superseded":0}
48	2026-11-21 12:19:22+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	control	\N	operation_begun	operation 22: prepare of 2 nodes	{"op":22,"phase":"prepare","attempt":1,"round":0}
49	2026-11-21 12:20:23+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	control	\N	outcome	operation 22: 2 succeeded, 0 failed, 0 unknown	{"op":22,"phase":"prepare","superseded":0}
50	2026-11-21 12:20:23+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	control	\N	operation_begun	operation 23: deploy of 2 nodes	{"op":23,"phase":"deploy","attempt":1,"round":0}
51	2026-11-21 12:21:24+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	control	\N	outcome	operation 23: 1 succeeded, 1 failed, 0 unknown	{"op":23,"phase":"deploy","superseded":0}
52	2026-11-21 12:21:24+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	control	\N	group_finished	attempt 1: failure (deploy_criteria)	{"criteria":[]}
53	2026-11-21 12:21:24+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	compute	\N	operation_begun	operation 24: prepare of 3 nodes	{"op":24,"phase":"prepare","attempt":1,"round":0}
54	2026-11-21 12:22:25+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	compute	\N	outcome	operation 24: 3 succeeded, 0 failed, 0 unknown	{"op":24,"phase":"prepare","superseded":0}
55	2026-11-21 12:22:25+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	compute	\N	operation_begun	operation 25: deploy of 3 nodes	{"op":25,"phase":"deploy","attempt":1,"round":0}
56	2026-11-21 12:23:26+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	compute	\N	outcome	operation 25: 1 succeeded, 1 failed, 1 unknown	{"op":25,"phase":"deploy","superseded":0}
57	2026-11-21 12:23:26+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	compute	\N	group_finished	attempt 1: failure (deploy_criteria)	{"criteria":[]}
58	2026-11-21 12:23:26+00	failed	01M7Z0M84R25HZD70V5BJ8BB3A	\N	\N	action_closed	action failed: 2 groups failed: control, compute	{}
59	2026-11-21 12:24:26+00	pruned	01M7Z1194GVNHDVHHSF8S5WCPH	\N	\N	site_acquired	site acquired	{}
60	2026-11-21 12:24:27+00	pruned	01M7Z1194GVNHDVHHSF8S5WCPH	\N	\N	operation_begun	operation 26: verify_site	{"op":26,"phase":"verify_site","attempt":1,"round":0}
61	2026-11-21 12:25:28+00	pruned	01M7Z1194GVNHDVHHSF8S5WCPH	\N	\N	outcome	operation 26: 0 succeeded, 0 failed, 0 unknown	{"op":26,"phase":"verify_site","superseded":0}
62	2026-11-21 12:25:28+00	pruned	01M7Z1194GVNHDVHHSF8S5WCPH	\N	\N	operation_begun	operation 27: prepare_site	{"op":27,"phase":"prepare_site","attempt":1,"round":0}
63	2026-11-21 12:26:29+00	pruned	01M7Z1194GVNHDVHHSF8S5WCPH	\N	\N	outcome	operation 27: 0 succeeded, 0 failed, 0 unknown	{"op":27,"phase":"prepare_site","superseded":0}
64	2026-11-21 12:26:29+00	pruned	01M7Z1194GVNHDVHHSF8S5WCPH	all	\N	operation_begun	operation 28: prepare of 3 nodes	{"op":28,"phase":"prepare","attempt":1,"round":0}
65	2026-11-21 12:27:30+00	pruned	01M7Z1194GVNHDVHHSF8S5WCPH	all	\N	outcome	operation 28: 3 succeeded, 0 failed, 0 unknown	{"op":28,"phase":"prepare","superseded":0}
66	2026-11-21 12:27:30+00	pruned	01M7Z1194GVNHDVHHSF8S5WCPH	all	\N	operation_begun	operation 29: deploy of 3 nodes	{"op":29,"phase":"deploy","attempt":1,"round":0}
67	2026-11-21 12:28:31+00	pruned	01M7Z1194GVNHDVHHSF8S5WCPH	all	\N	outcome	operation 29: 3 succeeded, 0 failed, 0 unknown	{"op":29,"phase":"deploy","superseded":0}
68	2026-11-21 12:28:31+00	pruned	01M7Z1194GVNHDVHHSF8S5WCPH	all	\N	group_finished	attempt 1: success	{"criteria":[]}
69	2026-11-21 12:28:31+00	pruned	01M7Z1194GVNHDVHHSF8S5WCPH	\N	\N	action_closed	action success: every group succeeded	{}
70	2026-11-21 12:28:31+00	pruned	01M7Z18RCRSEBDKRG00Z75KXN7	\N	\N	site_acquired	site acquired	{}
71	2026-11-21 12:28:32+00	pruned	01M7Z18RCRSEBDKRG00Z75KXN7	\N	\N	operation_begun	operation 30: destroy_nodes of 1 nodes	{"op":30,"phase":"destroy_nodes","attempt":1,"round":0}
72	2026-11-21 12:29:33+00	pruned	01M7Z18RCRSEBDKRG00Z75KXN7	\N	\N	outcome	operation 30: 1 succeeded, 0 failed, 0 unknown	{"op":30,"phase":"destroy_nodes","superseded":0}
73	2026-11-21 12:29:33+00	pruned	01M7Z18RCRSEBDKRG00Z75KXN7	\N	\N	operation_begun	operation 31: destroy_nodes of 1 nodes	{"op":31,"phase":"destroy_nodes","attempt":2,"round":0}
74	2026-11-21 12:30:34+00	led	01M7Z1CGGG6TE4F7N5GYFVHV8X	\N	\N	site_acquired	site acquired	{}
75	2026-11-21 12:30:35+00	led	01M7Z1CGGG6TE4F7N5GYFVHV8X	\N	\N	operation_begun	operation 32: verify_site	{"op":32,"phase":"verify_site","attempt":1,"round":0}
76	2026-11-21 12:31:36+00	led	01M7Z1CGGG6TE4F7N5GYFVHV8X	\N	\N	outcome	operation 32: 0 succeeded, 0 failed, 0 unknown	{"op":32,"phase":"verify_site","superseded":0}
77	2026-11-21 12:31:36+00	led	01M7Z1CGGG6TE4F7N5GYFVHV8X	\N	\N	operation_begun	operation 33: prepare_site	{"op":33,"phase":"prepare_site","attempt":1,"round":0}
78	2026-11-21 12:32:37+00	led	01M7Z1CGGG6TE4F7N5GYFVHV8X	\N	\N	outcome	operation 33: 0 succeeded, 0 failed, 0 unknown	{"op":33,"phase":"prepare_site","superseded":0}
79	2026-11-21 12:32:37+00	led	01M7Z1CGGG6TE4F7N5GYFVHV8X	all	\N	operation_begun	operation 34: prepare of 4 nodes	{"op":34,"phase":"prepare","attempt":1,"round":0}
80	2026-11-21 12:33:38+00	led	01M7Z1CGGG6TE4F7N5GYFVHV8X	all	\N	outcome	operation 34: 4 succeeded, 0 failed, 0 unknown	{"op":34,"phase":"prepare","superseded":0}
81	2026-11-21 12:33:38+00	led	01M7Z1CGGG6TE4F7N5GYFVHV8X	all	\N	operation_begun	operation 35: deploy of 4 nodes	{"op":35,"phase":"deploy","attempt":1,"round":0}
82	2026-11-21 12:34:39+00	led	01M7Z1CGGG6TE4F7N5GYFVHV8X	all	\N	outcome	operation 35: 4 succeeded, 0 failed, 0 unknown	{"op":35,"phase":"deploy","superseded":0}
83	2026-11-21 12:34:39+00	led	01M7Z1CGGG6TE4F7N5GYFVHV8X	all	\N	group_finished	attempt 1: success	{"criteria":[]}
84	2026-11-21 12:34:39+00	led	01M7Z1CGGG6TE4F7N5GYFVHV8X	\N	\N	action_closed	action success: every group succeeded	{}
85	2026-11-21 12:35:09+00	led	\N	\N	n1	node_state	new -> up	{"before":null,"after":"up","epoch":1795264479,"version":1}
86	2026-11-21 12:35:09+00	led	\N	\N	n2	node_state	new -> up	{"before":null,"after":"up","epoch":1795264479,"version":1}
87	2026-11-21 12:35:09+00	led	\N	\N	n3	node_state	new -> up	{"before":null,"after":"up","epoch":1795264479,"version":1}
88	2026-11-21 12:35:09+00	led	\N	\N	n4	node_state	new -> up	{"before":null,"after":"up","epoch":1795264479,"version":1}
89	2026-11-21 12:36:09+00	led	\N	\N	n1	drift	drifted: power is off, since 2026-11-21 12:35:39 UTC	{"since":"2026-11-21T12:35:39+00:00","reason":"power is off"}
90	2026-11-21 12:36:09+00	led	\N	\N	n1	node_trouble	well -> error: drifted: power is off, since 2026-11-21 12:35:39 UTC	{"id":"a56b2f61a5e77d72dd3cdf69bf","before":null,"after":"error"}
91	2026-11-21 12:36:09+00	led	\N	\N	n1	node_state	up -> down: not back within the grace period	{"before":"up","after":"down","epoch":1795264479,"version":2}
92	2026-11-21 12:36:09+00	led	\N	\N	n2	user_state	set to maintenance by ann: new disk	{"user":"ann","state":"maintenance","reason":"new disk"}
93	2026-11-21 12:36:09+00	led	\N	\N	n4	touched	asked for again by ann, as version 2 of the node	{"user":"ann"}
94	2026-11-21 12:36:09+00	other	\N	\N	\N	repair	stop repair by ann: the region has no power	{}
\.


--
-- Data for Name: group_node; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.group_node (action_id, group_name, node) FROM stdin;
01M7YZMHG0G044V3FKE1DRP8TQ	control	c1
01M7YZMHG0G044V3FKE1DRP8TQ	control	c2
01M7YZMHG0G044V3FKE1DRP8TQ	compute	w1
01M7YZMHG0G044V3FKE1DRP8TQ	compute	w2
01M7YZMHG0G044V3FKE1DRP8TQ	compute	w3
01M7YZMHG0G044V3FKE1DRP8TQ	storage	s1
01M7YZMHG0G044V3FKE1DRP8TQ	storage	s2
01M7Z03F18K3SZW2GYDZSYZXGE	control	c1
01M7Z03F18K3SZW2GYDZSYZXGE	control	c2
01M7Z03F18K3SZW2GYDZSYZXGE	compute	w1
01M7Z03F18K3SZW2GYDZSYZXGE	compute	w2
01M7Z03F18K3SZW2GYDZSYZXGE	compute	w3
01M7Z03F18K3SZW2GYDZSYZXGE	storage	s1
01M7Z03F18K3SZW2GYDZSYZXGE	storage	s2
01M7Z0ENE0YHM3KR54HQA28J0A	control	c1
01M7Z0ENE0YHM3KR54HQA28J0A	control	c2
01M7Z0ENE0YHM3KR54HQA28J0A	compute	w1
01M7Z0ENE0YHM3KR54HQA28J0A	compute	w2
01M7Z0ENE0YHM3KR54HQA28J0A	compute	w3
01M7Z0ENE0YHM3KR54HQA28J0A	storage	s1
01M7Z0ENE0YHM3KR54HQA28J0A	storage	s2
01M7Z0M84R25HZD70V5BJ8BB3A	control	c1
01M7Z0M84R25HZD70V5BJ8BB3A	control	c2
01M7Z0M84R25HZD70V5BJ8BB3A	compute	w1
01M7Z0M84R25HZD70V5BJ8BB3A	compute	w2
01M7Z0M84R25HZD70V5BJ8BB3A	compute	w3
01M7Z1194GVNHDVHHSF8S5WCPH	all	n1
01M7Z1194GVNHDVHHSF8S5WCPH	all	n2
01M7Z1194GVNHDVHHSF8S5WCPH	all	n3
01M7Z18RCRSEBDKRG00Z75KXN7	all	n1
01M7Z1CGGG6TE4F7N5GYFVHV8X	all	n1
01M7Z1CGGG6TE4F7N5GYFVHV8X	all	n2
01M7Z1CGGG6TE4F7N5GYFVHV8X	all	n3
01M7Z1CGGG6TE4F7N5GYFVHV8X	all	n4
\.


--
-- Data for Name: group_run; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.group_run (action_id, name, "position", critical, definition, map_index, state, reason, attempt, attempt_key, criteria, counts, plan, started, ended) FROM stdin;
01M7YZMHG0G044V3FKE1DRP8TQ	control	0	t	{"name":"control","critical":true,"depends_on":[],"selectors":[]}	0	success	\N	1	first	[]	{}	\N	2026-11-21 12:02:03+00	2026-11-21 12:04:05+00
01M7YZMHG0G044V3FKE1DRP8TQ	compute	1	t	{"name":"compute","critical":true,"depends_on":[],"selectors":[]}	1	success	\N	1	first	[]	{}	\N	2026-11-21 12:04:05+00	2026-11-21 12:06:07+00
01M7YZMHG0G044V3FKE1DRP8TQ	storage	2	t	{"name":"storage","critical":true,"depends_on":[],"selectors":[]}	2	success	\N	1	first	[]	{}	\N	2026-11-21 12:06:07+00	2026-11-21 12:08:09+00
01M7Z03F18K3SZW2GYDZSYZXGE	storage	2	t	{"name":"storage","critical":true,"depends_on":[],"selectors":[]}	2	pending	\N	0	\N	[]	{}	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	control	0	t	{"name":"control","critical":true,"depends_on":[],"selectors":[]}	0	success	\N	1	first	[]	{}	\N	2026-11-21 12:10:12+00	2026-11-21 12:12:14+00
01M7Z03F18K3SZW2GYDZSYZXGE	compute	1	t	{"name":"compute","critical":true,"depends_on":[],"selectors":[]}	1	running	\N	1	first	[]	{}	\N	2026-11-21 12:12:14+00	\N
01M7Z0ENE0YHM3KR54HQA28J0A	control	0	t	{"name":"control","critical":true,"depends_on":[],"selectors":[]}	0	running	\N	1	first	[]	{}	\N	2026-11-21 12:16:19+00	\N
01M7Z0ENE0YHM3KR54HQA28J0A	compute	1	t	{"name":"compute","critical":true,"depends_on":[],"selectors":[]}	1	running	\N	1	first	[]	{}	\N	2026-11-21 12:16:19+00	\N
01M7Z0ENE0YHM3KR54HQA28J0A	storage	2	t	{"name":"storage","critical":true,"depends_on":[],"selectors":[]}	2	running	\N	1	first	[]	{}	\N	2026-11-21 12:16:19+00	\N
01M7Z0M84R25HZD70V5BJ8BB3A	control	0	t	{"name":"control","critical":true,"depends_on":[],"selectors":[]}	0	failure	deploy_criteria	1	first	[]	{}	\N	2026-11-21 12:19:22+00	2026-11-21 12:21:24+00
01M7Z0M84R25HZD70V5BJ8BB3A	compute	1	t	{"name":"compute","critical":true,"depends_on":[],"selectors":[]}	1	failure	deploy_criteria	1	first	[]	{}	\N	2026-11-21 12:21:24+00	2026-11-21 12:23:26+00
01M7Z1194GVNHDVHHSF8S5WCPH	all	0	t	{"name":"all","critical":true,"depends_on":[],"selectors":[]}	0	success	\N	1	first	[]	{}	\N	2026-11-21 12:26:29+00	2026-11-21 12:28:31+00
01M7Z18RCRSEBDKRG00Z75KXN7	all	0	t	{"name":"all","critical":true,"depends_on":[],"selectors":[]}	0	pending	\N	0	\N	[]	{}	\N	\N	\N
01M7Z1CGGG6TE4F7N5GYFVHV8X	all	0	t	{"name":"all","critical":true,"depends_on":[],"selectors":[]}	0	success	\N	1	first	[]	{}	\N	2026-11-21 12:32:37+00	2026-11-21 12:34:39+00
\.


--
-- Data for Name: lease; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.lease (name, owner, epoch, expires_at, renewed, secret_hash) FROM stdin;
site:led	controller-1:12	1795264479	2026-11-22 12:34:39+00	2026-11-21 12:34:39+00	2c5416af88275bd237e4938f3f56629ab0e100c5b8a322e1eb4eb7c3928216dd
controller	controller-1:12	1795264569	2026-11-22 12:36:09+00	2026-11-21 12:36:09+00	0f461ae642176e38c9a2f65630494f82a5b32d5d395e0fbf663206c53f1f78e4
\.


--
-- Data for Name: node; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.node (site, name, wanted_revision, wanted_digest, wanted_version, touched, touched_by, depends_on, op, done_revision, done_digest, done_version, done_at, failures, next_try, tried_action, version, condition, left_as, doubt, owner, status, error, error_revision, error_version, error_action, fixed, first_updated, last_updated, rack, provisioner_status, power, listed_at) FROM stdin;
running	s1	1	3:43b272d335e8340b0ba0f6cfe980f86fd858d65a663d111ed790178a557835d5:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	8	1	3:43b272d335e8340b0ba0f6cfe980f86fd858d65a663d111ed790178a557835d5:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	2026-11-21 12:08:09+00	0	\N	\N	5	\N	\N	\N	provisioner:slipway_provisioner	success	\N	\N	\N	\N	\N	2026-11-21 12:06:07+00	2026-11-21 12:08:09+00	r1	\N	\N	\N
running	s2	1	3:e8ddc854de017ad0706ef00bb8e9bbbd96a8b44e13e2960c2eacbac9eb1aa07e:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	8	1	3:e8ddc854de017ad0706ef00bb8e9bbbd96a8b44e13e2960c2eacbac9eb1aa07e:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	2026-11-21 12:08:09+00	0	\N	\N	5	\N	\N	\N	provisioner:slipway_provisioner	success	\N	\N	\N	\N	\N	2026-11-21 12:06:07+00	2026-11-21 12:08:09+00	r1	\N	\N	\N
running	c1	1	3:31340d4192a1da807fa784150640d602e0adf48b21528be3efa6acc2f1e90b42:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	12	2	3:31340d4192a1da807fa784150640d602e0adf48b21528be3efa6acc2f1e90b42:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	2026-11-21 12:12:14+00	0	\N	\N	9	\N	\N	\N	provisioner:slipway_provisioner	success	\N	\N	\N	\N	\N	2026-11-21 12:02:03+00	2026-11-21 12:12:14+00	r1	\N	\N	\N
running	c2	1	3:70899648c1c8f7de0ce5a9c4d5415612f3d7189471d1cc8ff3eb44af25450b49:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	12	2	3:70899648c1c8f7de0ce5a9c4d5415612f3d7189471d1cc8ff3eb44af25450b49:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	2026-11-21 12:12:14+00	0	\N	\N	9	\N	\N	\N	provisioner:slipway_provisioner	success	\N	\N	\N	\N	\N	2026-11-21 12:02:03+00	2026-11-21 12:12:14+00	r1	\N	\N	\N
running	w1	1	3:95738da3de539f32d4a16e950557248c500858dba2b55a6f81d526fe88be4fc5:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	14	\N	\N	\N	\N	0	\N	\N	8	\N	\N	\N	provisioner:slipway_provisioner	processing	\N	\N	\N	\N	\N	2026-11-21 12:04:05+00	2026-11-21 12:13:15+00	r1	\N	\N	\N
running	w2	1	3:9f7e379ff3ac0a7b943a23a825265b773881473af6eb98454b1befbe35e5e7a7:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	14	\N	\N	\N	\N	0	\N	\N	8	\N	\N	\N	provisioner:slipway_provisioner	processing	\N	\N	\N	\N	\N	2026-11-21 12:04:05+00	2026-11-21 12:13:15+00	r1	\N	\N	\N
running	w3	1	3:95a6d0728ac64cf44eb6163b0eab3f159f466528f63cd8cb66260ee09fbc6349:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	13	\N	\N	\N	\N	1	2026-11-21 12:14:21.337613+00	01M7Z03F18K3SZW2GYDZSYZXGE	8	\N	\N	\N	provisioner:slipway_provisioner	error	no boot disk was found	2	1	01M7Z03F18K3SZW2GYDZSYZXGE	\N	2026-11-21 12:04:05+00	2026-11-21 12:13:15+00	r1	\N	\N	\N
beside	s1	1	3:aed6dd242ecf864073380b2706787b007c7fe1926ca1ed68dcf8c8c7660a71dc:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	\N	\N	\N	\N	\N	0	\N	\N	1	\N	\N	\N	provisioner:slipway_provisioner	\N	\N	\N	\N	\N	\N	\N	\N	r1	\N	\N	\N
beside	s2	1	3:1b6886a6faf94a238cc5d73ee8603cde67a0088178839051655973083a187a75:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	\N	\N	\N	\N	\N	0	\N	\N	1	\N	\N	\N	provisioner:slipway_provisioner	\N	\N	\N	\N	\N	\N	\N	\N	r1	\N	\N	\N
beside	c1	1	3:b1079b8720ac025af21ce2010da5d43270b4d8ed5f41fef7a7eba4dff5a2f469:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	18	\N	\N	\N	\N	0	\N	\N	2	\N	\N	\N	provisioner:slipway_provisioner	processing	\N	\N	\N	\N	\N	2026-11-21 12:16:19+00	2026-11-21 12:16:19+00	r1	\N	\N	\N
beside	c2	1	3:ccc930f87fa136ccd16923e55480738537a977c5f86fd1aa6e4ef4fbc209a84a:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	18	\N	\N	\N	\N	0	\N	\N	2	\N	\N	\N	provisioner:slipway_provisioner	processing	\N	\N	\N	\N	\N	2026-11-21 12:16:19+00	2026-11-21 12:16:19+00	r1	\N	\N	\N
beside	w1	1	3:62c1bfdf4c83d066299ce95b8532854e6bb40201531f208088ac95a10e5b0553:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	19	\N	\N	\N	\N	0	\N	\N	2	\N	\N	\N	provisioner:slipway_provisioner	processing	\N	\N	\N	\N	\N	2026-11-21 12:16:19+00	2026-11-21 12:16:19+00	r1	\N	\N	\N
beside	w2	1	3:7fb5da835be512d2043a9b4a5f0616145513ab868cce33a45590edc451b590bc:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	19	\N	\N	\N	\N	0	\N	\N	2	\N	\N	\N	provisioner:slipway_provisioner	processing	\N	\N	\N	\N	\N	2026-11-21 12:16:19+00	2026-11-21 12:16:19+00	r1	\N	\N	\N
beside	w3	1	3:ba044e9608271107f9968604ed0d0b5e7b2b9ceda98af7d7a30529264f15d3d4:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	19	\N	\N	\N	\N	0	\N	\N	2	\N	\N	\N	provisioner:slipway_provisioner	processing	\N	\N	\N	\N	\N	2026-11-21 12:16:19+00	2026-11-21 12:16:19+00	r1	\N	\N	\N
failed	c1	1	3:fdad890add2ae99b8e30ae7077e88028d789fc42ba5c7bd10c561208ab558aee:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	23	1	3:fdad890add2ae99b8e30ae7077e88028d789fc42ba5c7bd10c561208ab558aee:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	2026-11-21 12:21:24+00	0	\N	\N	5	\N	\N	\N	provisioner:slipway_provisioner	success	\N	\N	\N	\N	\N	2026-11-21 12:19:22+00	2026-11-21 12:21:24+00	r1	\N	\N	\N
failed	c2	1	3:669e80dcd8d7d1ea7dad4ab786d0fada0dff2b0cec4c6d4be855618ca4438fab:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	23	\N	\N	\N	\N	1	2026-11-21 12:22:35.075948+00	01M7Z0M84R25HZD70V5BJ8BB3A	6	\N	\N	\N	provisioner:slipway_provisioner	error	no boot disk was found	1	1	01M7Z0M84R25HZD70V5BJ8BB3A	\N	2026-11-21 12:19:22+00	2026-11-21 12:21:24+00	r1	\N	\N	\N
failed	w1	1	3:d3d0ba994fd327a235c43a0e71d88ea82f17ad6ac1a174e907c6e9cdd9143ffa:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	25	\N	\N	\N	\N	1	2026-11-21 12:24:11.43887+00	01M7Z0M84R25HZD70V5BJ8BB3A	6	\N	\N	\N	provisioner:slipway_provisioner	error	no boot disk was found	1	1	01M7Z0M84R25HZD70V5BJ8BB3A	\N	2026-11-21 12:21:24+00	2026-11-21 12:23:26+00	r1	\N	\N	\N
failed	w2	1	3:a6793289c9b80baa29b1ec52f53d568a5a6cb19a30fad4f083e330d66c55e5c4:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	25	\N	\N	\N	\N	0	\N	\N	5	\N	\N	\N	provisioner:slipway_provisioner	error	timeout	1	1	01M7Z0M84R25HZD70V5BJ8BB3A	\N	2026-11-21 12:21:24+00	2026-11-21 12:23:26+00	r1	\N	\N	\N
failed	w3	1	3:b6b7c5b499c95b25bfd508f2ea2c286a1a2d98317418f98d75b98f90022f5682:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	25	1	3:b6b7c5b499c95b25bfd508f2ea2c286a1a2d98317418f98d75b98f90022f5682:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	2026-11-21 12:23:26+00	0	\N	\N	5	\N	\N	\N	provisioner:slipway_provisioner	success	\N	\N	\N	\N	\N	2026-11-21 12:21:24+00	2026-11-21 12:23:26+00	r1	\N	\N	\N
pruned	n1	1	3:9b592cac70ed335f677fbe96af3dd69fe1f9122140a9b38979f4f21e54252e6b:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	29	1	3:9b592cac70ed335f677fbe96af3dd69fe1f9122140a9b38979f4f21e54252e6b:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	2026-11-21 12:28:31+00	0	\N	\N	5	\N	\N	\N	provisioner:slipway_provisioner	success	\N	\N	\N	\N	\N	2026-11-21 12:26:29+00	2026-11-21 12:28:31+00	r1	\N	\N	\N
pruned	n2	\N	\N	1	\N	\N	\N	30	\N	\N	\N	\N	0	\N	\N	8	\N	\N	\N	provisioner:slipway_provisioner	deleted	\N	\N	\N	\N	\N	2026-11-21 12:26:29+00	2026-11-21 12:29:33+00	\N	\N	\N	\N
pruned	n3	\N	\N	1	\N	\N	\N	31	1	3:6de34026afeefcd1dbef084a710f7a1c1802cf8bfddc882e06f8e52a4d3f9d74:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	2026-11-21 12:28:31+00	0	\N	\N	7	\N	\N	its removal was begun	provisioner:slipway_provisioner	processing	\N	\N	\N	\N	\N	2026-11-21 12:26:29+00	2026-11-21 12:29:33+00	\N	\N	\N	\N
led	n3	2	3:b9487a54a9a3e6b570b989c9bb95d6edae77d36c0d1dfd4367b1e6c394580d33:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	35	2	3:b9487a54a9a3e6b570b989c9bb95d6edae77d36c0d1dfd4367b1e6c394580d33:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	2026-11-21 12:34:39+00	0	\N	\N	5	\N	\N	\N	provisioner:slipway_provisioner	success	\N	\N	\N	\N	\N	2026-11-21 12:32:37+00	2026-11-21 12:34:39+00	r1	Deployed	on	2026-11-21 12:35:09+00
led	n1	2	3:c6e5ad1e5f8d5b8952b00987d7c237ae91b44b48204cf0ea145e898c728c6ef9:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	35	2	3:c6e5ad1e5f8d5b8952b00987d7c237ae91b44b48204cf0ea145e898c728c6ef9:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	2026-11-21 12:34:39+00	0	\N	\N	6	\N	\N	\N	provisioner:slipway_provisioner	error	drifted: power is off, since 2026-11-21 12:35:39 UTC	2	1	\N	\N	2026-11-21 12:32:37+00	2026-11-21 12:36:09+00	r1	Deployed	off	2026-11-21 12:35:39+00
led	n2	2	3:cc712c75047556a083c5c2d5efa51f60d213d2039e83ee29e3ba051df8cf3912:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	\N	\N	\N	35	2	3:cc712c75047556a083c5c2d5efa51f60d213d2039e83ee29e3ba051df8cf3912:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	2026-11-21 12:34:39+00	0	\N	\N	6	\N	\N	\N	provisioner:slipway_provisioner	success	\N	\N	\N	\N	\N	2026-11-21 12:32:37+00	2026-11-21 12:34:39+00	r1	Deployed	on	2026-11-21 12:35:09+00
led	n4	2	3:d15e55a0b1bdae1a5e0a1712890b3e0053cd36cc98d528fbbf29defec5e68e04:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	2	2	ann	\N	35	2	3:d15e55a0b1bdae1a5e0a1712890b3e0053cd36cc98d528fbbf29defec5e68e04:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	1	2026-11-21 12:34:39+00	0	\N	\N	6	\N	\N	\N	provisioner:slipway_provisioner	success	\N	\N	\N	\N	\N	2026-11-21 12:32:37+00	2026-11-21 12:34:39+00	r1	Deployed	on	2026-11-21 12:35:09+00
\.


--
-- Data for Name: node_drift; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.node_drift (site, node, since, reason, op, ended) FROM stdin;
led	n1	2026-11-21 12:35:39+00	power is off	35	\N
\.


--
-- Data for Name: node_error; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.node_error (site, node, op, code, text, phase, action_id, provisioner_task, wanted_version, "time", state, acknowledged_at, acknowledged_by) FROM stdin;
running	w3	13	provisioner	no boot disk was found	prepare	01M7Z03F18K3SZW2GYDZSYZXGE	task-13	1	2026-11-21 12:13:15+00	failed	\N	\N
beside	s2	15	policy	maintenance: its disk is changed	prepare	01M7Z0ENE0YHM3KR54HQA28J0A	\N	1	2026-11-21 12:14:17+00	failed	\N	\N
failed	c2	23	provisioner	no boot disk was found	deploy	01M7Z0M84R25HZD70V5BJ8BB3A	task-23	1	2026-11-21 12:21:24+00	failed	\N	\N
failed	w1	25	provisioner	no boot disk was found	deploy	01M7Z0M84R25HZD70V5BJ8BB3A	task-25	1	2026-11-21 12:23:26+00	failed	\N	\N
failed	w2	25	timeout	deploy failed	deploy	01M7Z0M84R25HZD70V5BJ8BB3A	task-25	1	2026-11-21 12:23:26+00	failed	\N	\N
\.


--
-- Data for Name: node_question; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.node_question (op, urls, most) FROM stdin;
\.


--
-- Data for Name: node_trouble; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.node_trouble (site, node, status, since) FROM stdin;
led	n1	error	2026-11-21 12:36:09+00
\.


--
-- Data for Name: node_view; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.node_view (site, node, word, power, reported, reported_since, crashes, history, state, reason, since, user_since) FROM stdin;
led	n2	Deployed	on	up	1795264509	0	{"state":"up","since":1795264509.0,"been_up":true,"up_since":1795264509.0}	up		1795264509	0
led	n3	Deployed	on	up	1795264509	0	{"state":"up","since":1795264509.0,"been_up":true,"up_since":1795264509.0}	up		1795264509	0
led	n4	Deployed	on	up	1795264509	0	{"state":"up","since":1795264509.0,"been_up":true,"up_since":1795264509.0}	up		1795264509	0
led	n1	Deployed	off	down	1795264539	1	{"state":"down","since":1795264539.0,"been_up":true,"up_since":1795264509.0,"transition_started":1795264539.0,"crashes":1}	down	not back within the grace period	1795264569	0
\.


--
-- Data for Name: operation; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.operation (op, action_id, site, group_name, attempt, phase, round, left_out, reference, nodes, design_ref, provisioner_task, lease_owner, lease_until, created, sending, submitted, running_since, ended, over, status, result, at_work) FROM stdin;
1	01M7YZMHG0G044V3FKE1DRP8TQ	running	\N	1	verify_site	0	\N	slipway-01M7YZMHG0G044V3FKE1DRP8TQ-1	[]	http://slipway:8080/slipway/designs/running	task-1	worker-1:4711	2026-11-21 12:00:32+00	2026-11-21 12:00:01+00	2026-11-21 12:00:02+00	2026-11-21 12:00:02+00	2026-11-21 12:00:02+00	2026-11-21 12:01:02+00	2026-11-21 12:01:02+00	complete	success	\N
16	01M7Z0ENE0YHM3KR54HQA28J0A	beside	\N	1	verify_site	0	\N	slipway-01M7Z0ENE0YHM3KR54HQA28J0A-16	[]	http://slipway:8080/slipway/designs/beside	task-16	worker-1:4711	2026-11-21 12:14:48+00	2026-11-21 12:14:17+00	2026-11-21 12:14:18+00	2026-11-21 12:14:18+00	2026-11-21 12:14:18+00	2026-11-21 12:15:18+00	2026-11-21 12:15:18+00	complete	success	\N
6	01M7YZMHG0G044V3FKE1DRP8TQ	running	compute	1	deploy	0	\N	slipway-01M7YZMHG0G044V3FKE1DRP8TQ-6	["w1","w2","w3"]	http://slipway:8080/slipway/designs/running	task-6	worker-1:4711	2026-11-21 12:05:37+00	2026-11-21 12:05:06+00	2026-11-21 12:05:07+00	2026-11-21 12:05:07+00	2026-11-21 12:05:07+00	2026-11-21 12:06:07+00	2026-11-21 12:06:07+00	complete	success	\N
2	01M7YZMHG0G044V3FKE1DRP8TQ	running	\N	1	prepare_site	0	\N	slipway-01M7YZMHG0G044V3FKE1DRP8TQ-2	[]	http://slipway:8080/slipway/designs/running	task-2	worker-1:4711	2026-11-21 12:01:33+00	2026-11-21 12:01:02+00	2026-11-21 12:01:03+00	2026-11-21 12:01:03+00	2026-11-21 12:01:03+00	2026-11-21 12:02:03+00	2026-11-21 12:02:03+00	complete	success	\N
10	01M7Z03F18K3SZW2GYDZSYZXGE	running	\N	1	prepare_site	0	\N	slipway-01M7Z03F18K3SZW2GYDZSYZXGE-10	[]	http://slipway:8080/slipway/designs/running	task-10	worker-1:4711	2026-11-21 12:09:42+00	2026-11-21 12:09:11+00	2026-11-21 12:09:12+00	2026-11-21 12:09:12+00	2026-11-21 12:09:12+00	2026-11-21 12:10:12+00	2026-11-21 12:10:12+00	complete	success	\N
3	01M7YZMHG0G044V3FKE1DRP8TQ	running	control	1	prepare	0	\N	slipway-01M7YZMHG0G044V3FKE1DRP8TQ-3	["c1","c2"]	http://slipway:8080/slipway/designs/running	task-3	worker-1:4711	2026-11-21 12:02:34+00	2026-11-21 12:02:03+00	2026-11-21 12:02:04+00	2026-11-21 12:02:04+00	2026-11-21 12:02:04+00	2026-11-21 12:03:04+00	2026-11-21 12:03:04+00	complete	success	\N
7	01M7YZMHG0G044V3FKE1DRP8TQ	running	storage	1	prepare	0	\N	slipway-01M7YZMHG0G044V3FKE1DRP8TQ-7	["s1","s2"]	http://slipway:8080/slipway/designs/running	task-7	worker-1:4711	2026-11-21 12:06:38+00	2026-11-21 12:06:07+00	2026-11-21 12:06:08+00	2026-11-21 12:06:08+00	2026-11-21 12:06:08+00	2026-11-21 12:07:08+00	2026-11-21 12:07:08+00	complete	success	\N
4	01M7YZMHG0G044V3FKE1DRP8TQ	running	control	1	deploy	0	\N	slipway-01M7YZMHG0G044V3FKE1DRP8TQ-4	["c1","c2"]	http://slipway:8080/slipway/designs/running	task-4	worker-1:4711	2026-11-21 12:03:35+00	2026-11-21 12:03:04+00	2026-11-21 12:03:05+00	2026-11-21 12:03:05+00	2026-11-21 12:03:05+00	2026-11-21 12:04:05+00	2026-11-21 12:04:05+00	complete	success	\N
5	01M7YZMHG0G044V3FKE1DRP8TQ	running	compute	1	prepare	0	\N	slipway-01M7YZMHG0G044V3FKE1DRP8TQ-5	["w1","w2","w3"]	http://slipway:8080/slipway/designs/running	task-5	worker-1:4711	2026-11-21 12:04:36+00	2026-11-21 12:04:05+00	2026-11-21 12:04:06+00	2026-11-21 12:04:06+00	2026-11-21 12:04:06+00	2026-11-21 12:05:06+00	2026-11-21 12:05:06+00	complete	success	\N
13	01M7Z03F18K3SZW2GYDZSYZXGE	running	compute	1	prepare	0	\N	slipway-01M7Z03F18K3SZW2GYDZSYZXGE-13	["w1","w2","w3"]	http://slipway:8080/slipway/designs/running	task-13	worker-1:4711	2026-11-21 12:12:45+00	2026-11-21 12:12:14+00	2026-11-21 12:12:15+00	2026-11-21 12:12:15+00	2026-11-21 12:12:15+00	2026-11-21 12:13:15+00	2026-11-21 12:13:15+00	complete	failure	\N
8	01M7YZMHG0G044V3FKE1DRP8TQ	running	storage	1	deploy	0	\N	slipway-01M7YZMHG0G044V3FKE1DRP8TQ-8	["s1","s2"]	http://slipway:8080/slipway/designs/running	task-8	worker-1:4711	2026-11-21 12:07:39+00	2026-11-21 12:07:08+00	2026-11-21 12:07:09+00	2026-11-21 12:07:09+00	2026-11-21 12:07:09+00	2026-11-21 12:08:09+00	2026-11-21 12:08:09+00	complete	success	\N
11	01M7Z03F18K3SZW2GYDZSYZXGE	running	control	1	prepare	0	\N	slipway-01M7Z03F18K3SZW2GYDZSYZXGE-11	["c1","c2"]	http://slipway:8080/slipway/designs/running	task-11	worker-1:4711	2026-11-21 12:10:43+00	2026-11-21 12:10:12+00	2026-11-21 12:10:13+00	2026-11-21 12:10:13+00	2026-11-21 12:10:13+00	2026-11-21 12:11:13+00	2026-11-21 12:11:13+00	complete	success	\N
9	01M7Z03F18K3SZW2GYDZSYZXGE	running	\N	1	verify_site	0	\N	slipway-01M7Z03F18K3SZW2GYDZSYZXGE-9	[]	http://slipway:8080/slipway/designs/running	task-9	worker-1:4711	2026-11-21 12:08:41+00	2026-11-21 12:08:10+00	2026-11-21 12:08:11+00	2026-11-21 12:08:11+00	2026-11-21 12:08:11+00	2026-11-21 12:09:11+00	2026-11-21 12:09:11+00	complete	success	\N
23	01M7Z0M84R25HZD70V5BJ8BB3A	failed	control	1	deploy	0	\N	slipway-01M7Z0M84R25HZD70V5BJ8BB3A-23	["c1","c2"]	http://slipway:8080/slipway/designs/failed	task-23	worker-1:4711	2026-11-21 12:20:54+00	2026-11-21 12:20:23+00	2026-11-21 12:20:24+00	2026-11-21 12:20:24+00	2026-11-21 12:20:24+00	2026-11-21 12:21:24+00	2026-11-21 12:21:24+00	complete	failure	\N
12	01M7Z03F18K3SZW2GYDZSYZXGE	running	control	1	deploy	0	\N	slipway-01M7Z03F18K3SZW2GYDZSYZXGE-12	["c1","c2"]	http://slipway:8080/slipway/designs/running	task-12	worker-1:4711	2026-11-21 12:11:44+00	2026-11-21 12:11:13+00	2026-11-21 12:11:14+00	2026-11-21 12:11:14+00	2026-11-21 12:11:14+00	2026-11-21 12:12:14+00	2026-11-21 12:12:14+00	complete	success	\N
14	01M7Z03F18K3SZW2GYDZSYZXGE	running	compute	1	deploy	0	\N	slipway-01M7Z03F18K3SZW2GYDZSYZXGE-14	["w1","w2"]	http://slipway:8080/slipway/designs/running	task-14	worker-1:4711	2026-11-21 12:13:46+00	2026-11-21 12:13:15+00	2026-11-21 12:13:16+00	2026-11-21 12:13:16+00	2026-11-21 12:13:16+00	\N	\N	submitted	\N	\N
17	01M7Z0ENE0YHM3KR54HQA28J0A	beside	\N	1	prepare_site	0	\N	slipway-01M7Z0ENE0YHM3KR54HQA28J0A-17	[]	http://slipway:8080/slipway/designs/beside	task-17	worker-1:4711	2026-11-21 12:15:49+00	2026-11-21 12:15:18+00	2026-11-21 12:15:19+00	2026-11-21 12:15:19+00	2026-11-21 12:15:19+00	2026-11-21 12:16:19+00	2026-11-21 12:16:19+00	complete	success	\N
21	01M7Z0M84R25HZD70V5BJ8BB3A	failed	\N	1	prepare_site	0	\N	slipway-01M7Z0M84R25HZD70V5BJ8BB3A-21	[]	http://slipway:8080/slipway/designs/failed	task-21	worker-1:4711	2026-11-21 12:18:52+00	2026-11-21 12:18:21+00	2026-11-21 12:18:22+00	2026-11-21 12:18:22+00	2026-11-21 12:18:22+00	2026-11-21 12:19:22+00	2026-11-21 12:19:22+00	complete	success	\N
18	01M7Z0ENE0YHM3KR54HQA28J0A	beside	control	1	prepare	0	\N	slipway-01M7Z0ENE0YHM3KR54HQA28J0A-18	["c1","c2"]	http://slipway:8080/slipway/designs/beside	\N	\N	\N	2026-11-21 12:16:19+00	\N	\N	\N	\N	\N	intended	\N	\N
19	01M7Z0ENE0YHM3KR54HQA28J0A	beside	compute	1	prepare	0	\N	slipway-01M7Z0ENE0YHM3KR54HQA28J0A-19	["w1","w2","w3"]	http://slipway:8080/slipway/designs/beside	\N	worker-2:815	2026-11-21 12:16:49+00	2026-11-21 12:16:19+00	2026-11-21 12:16:19+00	\N	\N	\N	\N	intended	\N	\N
20	01M7Z0M84R25HZD70V5BJ8BB3A	failed	\N	1	verify_site	0	\N	slipway-01M7Z0M84R25HZD70V5BJ8BB3A-20	[]	http://slipway:8080/slipway/designs/failed	task-20	worker-1:4711	2026-11-21 12:17:51+00	2026-11-21 12:17:20+00	2026-11-21 12:17:21+00	2026-11-21 12:17:21+00	2026-11-21 12:17:21+00	2026-11-21 12:18:21+00	2026-11-21 12:18:21+00	complete	success	\N
22	01M7Z0M84R25HZD70V5BJ8BB3A	failed	control	1	prepare	0	\N	slipway-01M7Z0M84R25HZD70V5BJ8BB3A-22	["c1","c2"]	http://slipway:8080/slipway/designs/failed	task-22	worker-1:4711	2026-11-21 12:19:53+00	2026-11-21 12:19:22+00	2026-11-21 12:19:23+00	2026-11-21 12:19:23+00	2026-11-21 12:19:23+00	2026-11-21 12:20:23+00	2026-11-21 12:20:23+00	complete	success	\N
24	01M7Z0M84R25HZD70V5BJ8BB3A	failed	compute	1	prepare	0	\N	slipway-01M7Z0M84R25HZD70V5BJ8BB3A-24	["w1","w2","w3"]	http://slipway:8080/slipway/designs/failed	task-24	worker-1:4711	2026-11-21 12:21:55+00	2026-11-21 12:21:24+00	2026-11-21 12:21:25+00	2026-11-21 12:21:25+00	2026-11-21 12:21:25+00	2026-11-21 12:22:25+00	2026-11-21 12:22:25+00	complete	success	\N
25	01M7Z0M84R25HZD70V5BJ8BB3A	failed	compute	1	deploy	0	\N	slipway-01M7Z0M84R25HZD70V5BJ8BB3A-25	["w1","w2","w3"]	http://slipway:8080/slipway/designs/failed	task-25	worker-1:4711	2026-11-21 12:22:56+00	2026-11-21 12:22:25+00	2026-11-21 12:22:26+00	2026-11-21 12:22:26+00	2026-11-21 12:22:26+00	2026-11-21 12:23:26+00	\N	timed_out	failure	\N
26	01M7Z1194GVNHDVHHSF8S5WCPH	pruned	\N	1	verify_site	0	\N	slipway-01M7Z1194GVNHDVHHSF8S5WCPH-26	[]	http://slipway:8080/slipway/designs/pruned	task-26	worker-1:4711	2026-11-21 12:24:58+00	2026-11-21 12:24:27+00	2026-11-21 12:24:28+00	2026-11-21 12:24:28+00	2026-11-21 12:24:28+00	2026-11-21 12:25:28+00	2026-11-21 12:25:28+00	complete	success	\N
27	01M7Z1194GVNHDVHHSF8S5WCPH	pruned	\N	1	prepare_site	0	\N	slipway-01M7Z1194GVNHDVHHSF8S5WCPH-27	[]	http://slipway:8080/slipway/designs/pruned	task-27	worker-1:4711	2026-11-21 12:25:59+00	2026-11-21 12:25:28+00	2026-11-21 12:25:29+00	2026-11-21 12:25:29+00	2026-11-21 12:25:29+00	2026-11-21 12:26:29+00	2026-11-21 12:26:29+00	complete	success	\N
33	01M7Z1CGGG6TE4F7N5GYFVHV8X	led	\N	1	prepare_site	0	\N	slipway-01M7Z1CGGG6TE4F7N5GYFVHV8X-33	[]	http://slipway:8080/slipway/designs/led	task-33	worker-1:4711	2026-11-21 12:32:07+00	2026-11-21 12:31:36+00	2026-11-21 12:31:37+00	2026-11-21 12:31:37+00	2026-11-21 12:31:37+00	2026-11-21 12:32:37+00	2026-11-21 12:32:37+00	complete	success	\N
28	01M7Z1194GVNHDVHHSF8S5WCPH	pruned	all	1	prepare	0	\N	slipway-01M7Z1194GVNHDVHHSF8S5WCPH-28	["n1","n2","n3"]	http://slipway:8080/slipway/designs/pruned	task-28	worker-1:4711	2026-11-21 12:27:00+00	2026-11-21 12:26:29+00	2026-11-21 12:26:30+00	2026-11-21 12:26:30+00	2026-11-21 12:26:30+00	2026-11-21 12:27:30+00	2026-11-21 12:27:30+00	complete	success	\N
29	01M7Z1194GVNHDVHHSF8S5WCPH	pruned	all	1	deploy	0	\N	slipway-01M7Z1194GVNHDVHHSF8S5WCPH-29	["n1","n2","n3"]	http://slipway:8080/slipway/designs/pruned	task-29	worker-1:4711	2026-11-21 12:28:01+00	2026-11-21 12:27:30+00	2026-11-21 12:27:31+00	2026-11-21 12:27:31+00	2026-11-21 12:27:31+00	2026-11-21 12:28:31+00	2026-11-21 12:28:31+00	complete	success	\N
34	01M7Z1CGGG6TE4F7N5GYFVHV8X	led	all	1	prepare	0	\N	slipway-01M7Z1CGGG6TE4F7N5GYFVHV8X-34	["n1","n2","n3","n4"]	http://slipway:8080/slipway/designs/led	task-34	worker-1:4711	2026-11-21 12:33:08+00	2026-11-21 12:32:37+00	2026-11-21 12:32:38+00	2026-11-21 12:32:38+00	2026-11-21 12:32:38+00	2026-11-21 12:33:38+00	2026-11-21 12:33:38+00	complete	success	\N
30	01M7Z18RCRSEBDKRG00Z75KXN7	pruned	\N	1	destroy_nodes	0	\N	slipway-01M7Z18RCRSEBDKRG00Z75KXN7-30	["n2"]	http://slipway:8080/slipway/designs/pruned	task-30	worker-1:4711	2026-11-21 12:29:03+00	2026-11-21 12:28:32+00	2026-11-21 12:28:33+00	2026-11-21 12:28:33+00	2026-11-21 12:28:33+00	2026-11-21 12:29:33+00	2026-11-21 12:29:33+00	complete	success	\N
31	01M7Z18RCRSEBDKRG00Z75KXN7	pruned	\N	2	destroy_nodes	0	\N	slipway-01M7Z18RCRSEBDKRG00Z75KXN7-31	["n3"]	file:///n3	task-31	worker-1:4711	2026-11-21 12:30:04+00	2026-11-21 12:29:33+00	2026-11-21 12:29:34+00	2026-11-21 12:29:34+00	2026-11-21 12:29:34+00	\N	\N	submitted	\N	\N
32	01M7Z1CGGG6TE4F7N5GYFVHV8X	led	\N	1	verify_site	0	\N	slipway-01M7Z1CGGG6TE4F7N5GYFVHV8X-32	[]	http://slipway:8080/slipway/designs/led	task-32	worker-1:4711	2026-11-21 12:31:06+00	2026-11-21 12:30:35+00	2026-11-21 12:30:36+00	2026-11-21 12:30:36+00	2026-11-21 12:30:36+00	2026-11-21 12:31:36+00	2026-11-21 12:31:36+00	complete	success	\N
35	01M7Z1CGGG6TE4F7N5GYFVHV8X	led	all	1	deploy	0	\N	slipway-01M7Z1CGGG6TE4F7N5GYFVHV8X-35	["n1","n2","n3","n4"]	http://slipway:8080/slipway/designs/led	task-35	worker-1:4711	2026-11-21 12:34:09+00	2026-11-21 12:33:38+00	2026-11-21 12:33:39+00	2026-11-21 12:33:39+00	2026-11-21 12:33:39+00	2026-11-21 12:34:39+00	2026-11-21 12:34:39+00	complete	success	\N
\.


--
-- Data for Name: outbox; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.outbox (id, event_id, site, kind, action_id, group_name, created, data, routed) FROM stdin;
1	01M7YZMHG0G044V3FKE1DRP8TP	running	objects_changed	\N	\N	2026-11-21 12:00:00+00	{"revision":1,"user":"ann","changes":[["boot_action","login","added",1],["configuration","deployment-configuration","added",1],["deckhand/Passphrase/v1","ipmi","added",1],["host_profile","compute","added",1],["network","oob","added",1],["node","c1","added",1],["node","c2","added",1],["node","s1","added",1],["node","s2","added",1],["node","w1","added",1],["node","w2","added",1],["node","w3","added",1],["region","running","added",1],["site_settings","settings","added",1],["strategy","deployment-strategy","added",1]]}	\N
2	01M7Z03F18K3SZW2GYDZSYZXGC	running	verdict	01M7YZMHG0G044V3FKE1DRP8TQ	\N	2026-11-21 12:08:09+00	{"kind":"deploy_site","revision":1,"user":"ann","state":"success","verdict":"every group succeeded","left_alone":0}	\N
3	01M7Z03F18K3SZW2GYDZSYZXGD	running	objects_changed	\N	\N	2026-11-21 12:08:09+00	{"revision":2,"user":"ann","changes":[["site_settings","settings","changed",2]]}	\N
4	01M7Z0ENE0YHM3KR54HQA28J09	beside	objects_changed	\N	\N	2026-11-21 12:14:16+00	{"revision":1,"user":"ann","changes":[["boot_action","login","added",1],["configuration","deployment-configuration","added",1],["deckhand/Passphrase/v1","ipmi","added",1],["host_profile","compute","added",1],["network","oob","added",1],["node","c1","added",1],["node","c2","added",1],["node","s1","added",1],["node","s2","added",1],["node","w1","added",1],["node","w2","added",1],["node","w3","added",1],["region","beside","added",1],["site_settings","settings","added",1],["strategy","deployment-strategy","added",1]]}	\N
5	01M7Z0JDHR6CCF87WNF6RZBBER	beside	gate_waiting	01M7Z0ENE0YHM3KR54HQA28J0A	storage	2026-11-21 12:16:19+00	{"moment":"before","text":"May storage go?","approvers":["bob"],"deadline":null}	\N
6	01M7Z0M84R25HZD70V5BJ8BB39	failed	objects_changed	\N	\N	2026-11-21 12:17:19+00	{"revision":1,"user":"ann","changes":[["boot_action","login","added",1],["configuration","deployment-configuration","added",1],["deckhand/Passphrase/v1","ipmi","added",1],["host_profile","compute","added",1],["network","oob","added",1],["node","c1","added",1],["node","c2","added",1],["node","w1","added",1],["node","w2","added",1],["node","w3","added",1],["region","failed","added",1],["site_settings","settings","added",1],["strategy","deployment-strategy","added",1]]}	\N
7	01M7Z0VQD0D3T6WK1K4E6G9D6X	failed	critical_group_failed	01M7Z0M84R25HZD70V5BJ8BB3A	control	2026-11-21 12:21:24+00	{"reason":"deploy_criteria","criteria":[],"counts":{}}	\N
8	01M7Z0ZEHGX1KYSR8PVHYMPW7K	failed	critical_group_failed	01M7Z0M84R25HZD70V5BJ8BB3A	compute	2026-11-21 12:23:26+00	{"reason":"deploy_criteria","criteria":[],"counts":{}}	\N
9	01M7Z0ZEHGX1KYSR8PVHYMPW7M	failed	verdict	01M7Z0M84R25HZD70V5BJ8BB3A	\N	2026-11-21 12:23:26+00	{"kind":"deploy_site","revision":1,"user":"ann","state":"failed","verdict":"2 groups failed: control, compute","left_alone":0}	\N
10	01M7Z1194GVNHDVHHSF8S5WCPG	pruned	objects_changed	\N	\N	2026-11-21 12:24:26+00	{"revision":1,"user":"ann","changes":[["boot_action","login","added",1],["configuration","deployment-configuration","added",1],["deckhand/Passphrase/v1","ipmi","added",1],["host_profile","compute","added",1],["network","oob","added",1],["node","n1","added",1],["node","n2","added",1],["node","n3","added",1],["region","pruned","added",1],["site_settings","settings","added",1],["strategy","deployment-strategy","added",1]]}	\N
11	01M7Z18RCRSEBDKRG00Z75KXN5	pruned	verdict	01M7Z1194GVNHDVHHSF8S5WCPH	\N	2026-11-21 12:28:31+00	{"kind":"deploy_site","revision":1,"user":"ann","state":"success","verdict":"every group succeeded","left_alone":0}	\N
12	01M7Z18RCRSEBDKRG00Z75KXN6	pruned	objects_changed	\N	\N	2026-11-21 12:28:31+00	{"revision":2,"user":"ann","changes":[["node","n2","removed",1],["node","n3","removed",1],["strategy","deployment-strategy","changed",2]]}	\N
13	01M7Z1CGGG6TE4F7N5GYFVHV8W	led	objects_changed	\N	\N	2026-11-21 12:30:34+00	{"revision":2,"user":"ann","changes":[["boot_action","login","added",1],["configuration","deployment-configuration","added",1],["deckhand/Passphrase/v1","ipmi","added",1],["host_profile","compute","added",1],["network","oob","added",1],["node","n1","added",1],["node","n2","added",1],["node","n3","added",1],["node","n4","added",1],["region","led","added",1],["site_settings","settings","added",1],["strategy","deployment-strategy","added",1]]}	\N
14	01M7Z1KZRRNVD4QG1E7DBCZNXW	led	verdict	01M7Z1CGGG6TE4F7N5GYFVHV8X	\N	2026-11-21 12:34:39+00	{"kind":"deploy_site","revision":2,"user":"ann","state":"success","verdict":"every group succeeded","left_alone":0}	\N
15	01M7Z1PQN8H3KKFR68B2SP1J7Q	led	node_trouble	\N	\N	2026-11-21 12:36:09+00	{"edges":[{"id":"a56b2f61a5e77d72dd3cdf69bf","node":"n1","before":null,"after":"error","message":"drifted: power is off, since 2026-11-21 12:35:39 UTC"}]}	\N
16	01M7Z1PQN8H3KKFR68B2SP1J7T	led	objects_changed	\N	\N	2026-11-21 12:36:09+00	{"revision":null,"user":"ann","changes":[["node","n4","touched",2]]}	\N
\.


--
-- Data for Name: owner; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.owner (name, last_seen, interval_seconds, detail, unresponsive_since) FROM stdin;
reporter:burn-in@led	2026-11-21 12:36:09+00	600	\N	\N
provisioner:slipway_provisioner	2026-11-21 12:36:09+00	60	Drydock 1.0	\N
\.


--
-- Data for Name: provisioner_call; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.provisioner_call (owner, call, result, bucket, calls, seconds) FROM stdin;
\.


--
-- Data for Name: provisioner_list; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.provisioner_list (site, connection, read_at, nodes, digest, every_seconds) FROM stdin;
led	slipway_provisioner	2026-11-21 12:36:09+00	\\x7801ab56ca3354b2aa564a4ecc8b2fc82f4f2d8acfcf53b22a292a4dd5514acecf4bc92cc9040928a5a416e4e457a6a628e92881950185f2d3d280bce292c492d26220d705a6a2564729cf086c2601fd7938b51b53a6dd8402edb5009fb15c15	19a54c27aa06468b6a8cb5f5b438c70593c295c1e498ce0b568cfdd6fd09acdd	\N
\.


--
-- Data for Name: repair; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.repair (site, node, cause, attempt, reason, redeploy, revision, begun, run_id, action_id, ended, result) FROM stdin;
led	n1	drift 2026-11-21T12:35:39+00:00	1	drifted: power is off, since 2026-11-21 12:35:39 UTC	f	\N	2026-11-21 12:36:09+00	repair-1	\N	\N	\N
\.


--
-- Data for Name: repair_switch; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.repair_switch (site, stopped_at, stopped_by, reason) FROM stdin;
other	2026-11-21 12:36:09+00	ann	the region has no power
\.


--
-- Data for Name: reported; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.reported (site, action_id, parent, name, owner, status, message, revision, first_updated, last_updated) FROM stdin;
led			n3	reporter:burn-in	error	memory test failed	\N	2026-11-21 12:36:09+00	2026-11-21 12:36:09+00
\.


--
-- Data for Name: reporter; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.reporter (id, site, owner, token_hash, created, created_by, revoked, last_used) FROM stdin;
01M7Z1PQN8H3KKFR68B2SP1J7V	led	reporter:burn-in	d811d9ac9eb725be06fdaf9d5dd649b02f3795c3d4eb00e41660b8b738cbd985	2026-11-21 12:36:09+00	ann	\N	2026-11-21 12:36:09+00
\.


--
-- Data for Name: revision; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.revision (id, site, number, digest, design_token, created, created_by, design_id, secrets_id, base, rollback_of, forced, problems, notifications, settings, policies) FROM stdin;
1	running	1	ffc815974f1e474205cedc28939c8cb5dbb1f50fe87b1d094173d2c2d3f49a4d	TP_bLrfhG29ryFBvNqilPToca8B3Gp3sqT-_Y2mXjSY	2026-11-21 12:00:00+00	ann	2	3	\N	\N	f	[]	\N	{"updates":{"redeploy_percent":20,"redeploy_nodes":5},"unknown_nodes":{"follow_timeout":86400},"node_states":{"transition_time":30,"stable_time":7200,"max_crashes":4,"init_timeout":0,"min_time_between_versions":5,"quiet_time":1,"max_quiet":10,"min_available_percent":0,"min_up_nodes":0,"min_up_percent":0,"max_groups_in_maintenance":1,"health_url":"","max_agent_connections":1000},"repair":"observe","max_repairs_per_hour":10,"max_parallel_groups":1}	\N
2	running	2	ae411a6c692dae5f2794024d45681a5b853bc6f74be88d3265005849ad0f3842	ZYdK-3lOy8lyIZZto60gZLxZpF9SszzSLPpQ2mMA1p4	2026-11-21 12:08:09+00	ann	5	3	1	\N	f	[]	\N	{"updates":{"redeploy_percent":20,"redeploy_nodes":5},"unknown_nodes":{"follow_timeout":86400},"node_states":{"transition_time":30,"stable_time":7200,"max_crashes":4,"init_timeout":0,"min_time_between_versions":5,"quiet_time":1,"max_quiet":10,"min_available_percent":0,"min_up_nodes":0,"min_up_percent":0,"max_groups_in_maintenance":1,"health_url":"","max_agent_connections":1000},"repair":"observe","max_repairs_per_hour":2,"max_parallel_groups":1}	\N
3	beside	1	bba97455da58e74b88a4b9f6de6ea06fe5256d194658a62b6cbace21a283aaf6	dWXib5vYX_Ycz8QcYteNDx9t9FEq915fM8FQQXjmQ8Q	2026-11-21 12:14:16+00	ann	7	8	\N	\N	f	[]	\N	{"updates":{"redeploy_percent":20,"redeploy_nodes":5},"unknown_nodes":{"follow_timeout":86400},"node_states":{"transition_time":30,"stable_time":7200,"max_crashes":4,"init_timeout":0,"min_time_between_versions":5,"quiet_time":1,"max_quiet":10,"min_available_percent":0,"min_up_nodes":0,"min_up_percent":0,"max_groups_in_maintenance":1,"health_url":"","max_agent_connections":1000},"repair":"observe","max_repairs_per_hour":10,"max_parallel_groups":1}	\N
4	failed	1	f69c6b5649f8abe914ea8f3aaee3fb640be654e0a2b74db86810bf5fd254135b	wmOenZ3mJUnIq8lGHLaPbBCLlgqiOBZdHLJZOBx0LXg	2026-11-21 12:17:19+00	ann	10	11	\N	\N	f	[]	\N	{"updates":{"redeploy_percent":20,"redeploy_nodes":5},"unknown_nodes":{"follow_timeout":86400},"node_states":{"transition_time":30,"stable_time":7200,"max_crashes":4,"init_timeout":0,"min_time_between_versions":5,"quiet_time":1,"max_quiet":10,"min_available_percent":0,"min_up_nodes":0,"min_up_percent":0,"max_groups_in_maintenance":1,"health_url":"","max_agent_connections":1000},"repair":"observe","max_repairs_per_hour":10,"max_parallel_groups":1}	\N
5	pruned	1	a0816650dc2080c2f7582a786fd44f64d2ea4138e72e85430c03f719281e52ec	mEcXKtsh6oBKoQ55yjWfJyk2KX0KEOOud7zGhqTU--c	2026-11-21 12:24:26+00	ann	14	15	\N	\N	f	[]	\N	{"updates":{"redeploy_percent":20,"redeploy_nodes":5},"unknown_nodes":{"follow_timeout":86400},"node_states":{"transition_time":30,"stable_time":7200,"max_crashes":4,"init_timeout":0,"min_time_between_versions":5,"quiet_time":1,"max_quiet":10,"min_available_percent":0,"min_up_nodes":0,"min_up_percent":0,"max_groups_in_maintenance":1,"health_url":"","max_agent_connections":1000},"repair":"observe","max_repairs_per_hour":10,"max_parallel_groups":1}	\N
6	pruned	2	7cb3572834c048ae33c815383a4605220a499b0e51398d458582e714dc330478	eqpOvitvkoZQ1V9eij4t5UHDQph0D3GekOTLf5hjRjg	2026-11-21 12:28:31+00	ann	17	15	1	\N	f	[]	\N	{"updates":{"redeploy_percent":20,"redeploy_nodes":5},"unknown_nodes":{"follow_timeout":86400},"node_states":{"transition_time":30,"stable_time":7200,"max_crashes":4,"init_timeout":0,"min_time_between_versions":5,"quiet_time":1,"max_quiet":10,"min_available_percent":0,"min_up_nodes":0,"min_up_percent":0,"max_groups_in_maintenance":1,"health_url":"","max_agent_connections":1000},"repair":"observe","max_repairs_per_hour":10,"max_parallel_groups":1}	\N
7	led	1	4f78253a2f6e2b624b5a98e4ebfcdf3e6af576c33f30cb97f23873b01e44189a	HV8WhkQZ5P6gPKAogoK-8XbahsDUzqWau1zwwfbxW-4	2026-11-21 12:30:34+00	tester	18	\N	\N	\N	f	[]	\N	\N	\N
8	led	2	e8447e5b5de5a410a845c484b1ad48ccffd7e393fcdadf4ce1611051689d38a3	aH5EH_cMiqk2AiLHbtayezHp-ksQ0UMqb3E4qJKcvnw	2026-11-21 12:30:34+00	ann	20	21	1	\N	f	[]	\N	{"updates":{"redeploy_percent":20,"redeploy_nodes":5},"unknown_nodes":{"follow_timeout":86400},"node_states":{"transition_time":30,"stable_time":7200,"max_crashes":4,"init_timeout":0,"min_time_between_versions":5,"quiet_time":1,"max_quiet":10,"min_available_percent":0,"min_up_nodes":0,"min_up_percent":0,"max_groups_in_maintenance":1,"health_url":"","max_agent_connections":1000},"repair":"on","max_repairs_per_hour":10,"max_parallel_groups":1}	\N
\.


--
-- Data for Name: revision_collection; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.revision_collection (revision_id, name, content_id) FROM stdin;
1	design	1
2	design	4
3	design	6
4	design	9
5	design	13
6	design	16
7	design	18
8	design	19
\.


--
-- Data for Name: shared_list; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.shared_list (name, answer, asked_at, took, flight, begun_at, alive_until, problem, timed_out, again_at) FROM stdin;
\.


--
-- Data for Name: site; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.site (name, created, unwatched_since) FROM stdin;
running	2026-11-21 12:00:00+00	\N
beside	2026-11-21 12:14:16+00	\N
failed	2026-11-21 12:17:19+00	\N
pruned	2026-11-21 12:24:26+00	\N
led	2026-11-21 12:30:34+00	\N
\.


--
-- Data for Name: site_audit; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.site_audit (id, site, command, nodes, detail, created_by, at) FROM stdin;
01M7Z1PQN8H3KKFR68B2SP1J7R	led	set maintenance	["n2"]	set to maintenance by ann: new disk	ann	2026-11-21 12:36:09+00
01M7Z1PQN8H3KKFR68B2SP1J7S	led	touch	["n4"]	\N	ann	2026-11-21 12:36:09+00
01M7Z1PQN8H3KKFR68B2SP1J7W	other	stop repair	[]	the region has no power	ann	2026-11-21 12:36:09+00
\.


--
-- Data for Name: site_group; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.site_group (site, name, "position", critical, depends_on, definition) FROM stdin;
running	control	0	t	[]	{"name":"control","critical":true,"depends_on":[],"selectors":[{"node_names":["c1","c2"],"node_tags":[],"node_labels":[],"rack_names":[]}]}
running	compute	1	t	["control"]	{"name":"compute","critical":true,"depends_on":["control"],"selectors":[{"node_names":["w1","w2","w3"],"node_tags":[],"node_labels":[],"rack_names":[]}]}
running	storage	2	t	["compute"]	{"name":"storage","critical":true,"depends_on":["compute"],"selectors":[{"node_names":["s1","s2"],"node_tags":[],"node_labels":[],"rack_names":[]}]}
beside	control	0	t	[]	{"name":"control","critical":true,"depends_on":[],"selectors":[{"node_names":["c1","c2"],"node_tags":[],"node_labels":[],"rack_names":[]}]}
beside	compute	1	t	["control"]	{"name":"compute","critical":true,"depends_on":["control"],"selectors":[{"node_names":["w1","w2","w3"],"node_tags":[],"node_labels":[],"rack_names":[]}]}
beside	storage	2	t	["compute"]	{"name":"storage","critical":true,"depends_on":["compute"],"selectors":[{"node_names":["s1","s2"],"node_tags":[],"node_labels":[],"rack_names":[]}]}
failed	control	0	t	[]	{"name":"control","critical":true,"depends_on":[],"selectors":[{"node_names":["c1","c2"],"node_tags":[],"node_labels":[],"rack_names":[]}]}
failed	compute	1	t	["control"]	{"name":"compute","critical":true,"depends_on":["control"],"selectors":[{"node_names":["w1","w2","w3"],"node_tags":[],"node_labels":[],"rack_names":[]}]}
pruned	all	0	t	[]	{"name":"all","critical":true,"depends_on":[],"selectors":[{"node_names":["n1"],"node_tags":[],"node_labels":[],"rack_names":[]}]}
led	all	0	t	[]	{"name":"all","critical":true,"depends_on":[],"selectors":[{"node_names":["n1","n2","n3","n4"],"node_tags":[],"node_labels":[],"rack_names":[]}]}
\.


--
-- Data for Name: site_group_node; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.site_group_node (site, group_name, node) FROM stdin;
running	control	c1
running	control	c2
running	compute	w1
running	compute	w2
running	compute	w3
running	storage	s1
running	storage	s2
beside	control	c1
beside	control	c2
beside	compute	w1
beside	compute	w2
beside	compute	w3
beside	storage	s1
beside	storage	s2
failed	control	c1
failed	control	c2
failed	compute	w1
failed	compute	w2
failed	compute	w3
pruned	all	n1
led	all	n1
led	all	n2
led	all	n3
led	all	n4
\.


--
-- Data for Name: site_lock; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.site_lock (site, action_id, dag_id, run_id, acquired) FROM stdin;
running	01M7Z03F18K3SZW2GYDZSYZXGE	deploy_site	running-second	2026-11-21 12:08:09+00
beside	01M7Z0ENE0YHM3KR54HQA28J0A	deploy_site	beside-first	2026-11-21 12:14:16+00
pruned	01M7Z18RCRSEBDKRG00Z75KXN7	update_site	pruned-second	2026-11-21 12:28:31+00
\.


--
-- Data for Name: site_stop; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.site_stop (site, why, at, resumed) FROM stdin;
\.


--
-- Data for Name: site_trouble; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.site_trouble (site, group_name, standing, node, error) FROM stdin;
running	compute	error	w3	no boot disk was found
failed	control	error	c2	no boot disk was found
failed	compute	error	w1	no boot disk was found
failed	compute	error	w2	timeout
led	all	error	n1	drifted: power is off, since 2026-11-21 12:35:39 UTC
\.


--
-- Data for Name: site_view; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.site_view (site, epoch, number, published_at, owner, state, reason, digest, body) FROM stdin;
led	1795264479	2	2026-11-21 12:36:09+00	controller-1:12	up		c059a5edf7f36082d4758780c2ddef6872f049b1eb47c7ba0a1dfe5715b810c7	\\x78016d8e5d6ac3301084af62f6b50eac64c9fa39472ea09f752c1a246329cd43f0dd2b170aa1f465d919866fe605b495b08265ca483e0ba1cc085fb4d75432583ec2f6f0f754578a6081239f2f8c5d38bb326ea7d9a2f940b48830424c37aaad87024ae324c5452dd38c9a47a1a4561a038f9196592bbea0309e91172a28efd0b1b890544c7acd30a8ceaaa95127dd7b6917cdfda8c7d6c54eae9ec3a0ffb944aa605f90d9797f73b13cf37b32973678173e87676a6bca435b69b8ed2ed0b0d19e4a84a3a3f83ba1379ddef48f27fe7ac7f10dcb485f81
\.


--
-- Data for Name: site_view_change; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.site_view_change (site, epoch, number, published_at, owner, changes) FROM stdin;
led	1795264479	1	2026-11-21 12:35:09+00	controller-1:12	\\x7801ab56ca3354b28ace2bcdc9d1512a2d50d251528ad551ca33c222668c45cc045dac1600adf616d7
led	1795264479	2	2026-11-21 12:36:09+00	controller-1:12	\\x7801ab56ca3354b28a562a2d50d2514ac92fcf035279f9250a4989c9d90ae599251999790a2519a90ae94589c9a90a05a94599f9294ab1b500e682126a
\.


--
-- Data for Name: slipway_schema_version; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.slipway_schema_version (version_num) FROM stdin;
0100
\.


--
-- Data for Name: status_count; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.status_count (action_id, site, group_name, phase, owner, status, serves, part, records) FROM stdin;
01M7YZMHG0G044V3FKE1DRP8TQ	running		~touch				0	47
01M7Z0ENE0YHM3KR54HQA28J0A	beside	compute	prepare	provisioner:slipway_provisioner	processing		0	3
01M7Z03F18K3SZW2GYDZSYZXGE	running		prepare	provisioner:slipway_provisioner	error		0	1
	pruned		to be removed	provisioner:slipway_provisioner	processing	nothing	0	1
	running		grouped	provisioner:slipway_provisioner	processing	nothing	0	2
01M7Z0ENE0YHM3KR54HQA28J0A	beside		prepare	provisioner:slipway_provisioner	processing		0	5
	led		grouped	provisioner:slipway_provisioner	error	nothing	0	1
01M7Z1CGGG6TE4F7N5GYFVHV8X	led		deploy	provisioner:slipway_provisioner	success		0	4
01M7Z18RCRSEBDKRG00Z75KXN7	pruned		destroy_nodes	provisioner:slipway_provisioner	success		0	1
01M7YZMHG0G044V3FKE1DRP8TQ	running	compute	deploy	provisioner:slipway_provisioner	success		0	3
	led	all	grouped	provisioner:slipway_provisioner	success	wanted	0	2
01M7Z03F18K3SZW2GYDZSYZXGE	running	compute	deploy	provisioner:slipway_provisioner	processing		0	2
01M7YZMHG0G044V3FKE1DRP8TQ	running	compute	prepare	provisioner:slipway_provisioner	success		0	3
01M7Z0M84R25HZD70V5BJ8BB3A	failed	control	deploy	provisioner:slipway_provisioner	error		0	1
01M7Z0ENE0YHM3KR54HQA28J0A	beside		deploy	provisioner:slipway_provisioner	withheld		0	1
01M7Z1194GVNHDVHHSF8S5WCPH	pruned	all	deploy	provisioner:slipway_provisioner	success		0	3
01M7Z0M84R25HZD70V5BJ8BB3A	failed	compute	deploy	provisioner:slipway_provisioner	unknown		0	1
01M7Z03F18K3SZW2GYDZSYZXGE	running	control	prepare	provisioner:slipway_provisioner	success		0	2
	failed		grouped	provisioner:slipway_provisioner	success	wanted	0	2
01M7Z0ENE0YHM3KR54HQA28J0A	beside	storage	deploy	provisioner:slipway_provisioner	pending		0	1
01M7Z0ENE0YHM3KR54HQA28J0A	beside	storage	prepare	provisioner:slipway_provisioner	pending		0	1
01M7Z03F18K3SZW2GYDZSYZXGE	running		~touch				0	35
01M7Z0ENE0YHM3KR54HQA28J0A	beside	storage	prepare	provisioner:slipway_provisioner	withheld		0	1
	pruned	all	grouped	provisioner:slipway_provisioner	success	wanted	0	1
	failed	compute	grouped	provisioner:slipway_provisioner	success	wanted	0	1
	running		grouped	provisioner:slipway_provisioner	success	wanted	0	4
01M7Z1CGGG6TE4F7N5GYFVHV8X	led		prepare	provisioner:slipway_provisioner	success		0	4
01M7Z03F18K3SZW2GYDZSYZXGE	running		deploy	provisioner:slipway_provisioner	success		0	2
01M7Z0ENE0YHM3KR54HQA28J0A	beside	storage	deploy	provisioner:slipway_provisioner	withheld		0	1
01M7Z0M84R25HZD70V5BJ8BB3A	failed		prepare	provisioner:slipway_provisioner	success		0	5
01M7Z0M84R25HZD70V5BJ8BB3A	failed		~touch				0	37
01M7Z18RCRSEBDKRG00Z75KXN7	pruned	all	prepare	provisioner:slipway_provisioner	success		0	1
01M7Z18RCRSEBDKRG00Z75KXN7	pruned		destroy_nodes	provisioner:slipway_provisioner	processing		0	1
01M7Z18RCRSEBDKRG00Z75KXN7	pruned		prepare	provisioner:slipway_provisioner	success		0	1
01M7Z03F18K3SZW2GYDZSYZXGE	running		prepare	provisioner:slipway_provisioner	success		0	4
01M7Z1CGGG6TE4F7N5GYFVHV8X	led	all	prepare	provisioner:slipway_provisioner	success		0	4
	failed		grouped	provisioner:slipway_provisioner	error	nothing	0	3
01M7Z1194GVNHDVHHSF8S5WCPH	pruned	all	prepare	provisioner:slipway_provisioner	success		0	3
01M7Z03F18K3SZW2GYDZSYZXGE	running		deploy	provisioner:slipway_provisioner	pending		0	3
01M7YZMHG0G044V3FKE1DRP8TQ	running		deploy	provisioner:slipway_provisioner	success		0	7
01M7Z03F18K3SZW2GYDZSYZXGE	running	compute	prepare	provisioner:slipway_provisioner	success		0	2
	led	all	grouped	provisioner:slipway_provisioner	pending	wanted	0	1
01M7Z1CGGG6TE4F7N5GYFVHV8X	led		~touch				0	27
01M7Z0ENE0YHM3KR54HQA28J0A	beside		prepare	provisioner:slipway_provisioner	withheld		0	1
01M7YZMHG0G044V3FKE1DRP8TQ	running		prepare	provisioner:slipway_provisioner	success		0	7
01M7Z1194GVNHDVHHSF8S5WCPH	pruned		~touch				0	27
01M7YZMHG0G044V3FKE1DRP8TQ	running	storage	prepare	provisioner:slipway_provisioner	success		0	2
01M7Z18RCRSEBDKRG00Z75KXN7	pruned	all	deploy	provisioner:slipway_provisioner	success		0	1
	pruned		~touch				0	39
	led		grouped	provisioner:slipway_provisioner	success	wanted	0	2
01M7Z0ENE0YHM3KR54HQA28J0A	beside	compute	deploy	provisioner:slipway_provisioner	pending		0	3
01M7Z03F18K3SZW2GYDZSYZXGE	running	compute	deploy	provisioner:slipway_provisioner	pending		0	1
01M7Z03F18K3SZW2GYDZSYZXGE	running	control	deploy	provisioner:slipway_provisioner	success		0	2
01M7Z1CGGG6TE4F7N5GYFVHV8X	led	all	deploy	provisioner:slipway_provisioner	success		0	4
	pruned		to be removed	provisioner:slipway_provisioner	deleted	nothing	0	1
	pruned		grouped	provisioner:slipway_provisioner	success	wanted	0	1
	running		grouped	provisioner:slipway_provisioner	error	nothing	0	1
01M7Z0M84R25HZD70V5BJ8BB3A	failed	compute	deploy	provisioner:slipway_provisioner	error		0	1
01M7Z0ENE0YHM3KR54HQA28J0A	beside	control	prepare	provisioner:slipway_provisioner	processing		0	2
01M7Z18RCRSEBDKRG00Z75KXN7	pruned		deploy	provisioner:slipway_provisioner	success		0	1
	led		grouped	provisioner:slipway_provisioner	pending	wanted	0	1
	beside	control	grouped	provisioner:slipway_provisioner	processing	nothing	0	2
01M7YZMHG0G044V3FKE1DRP8TQ	running	storage	deploy	provisioner:slipway_provisioner	success		0	2
	beside		grouped	provisioner:slipway_provisioner	pending	nothing	0	2
01M7Z1194GVNHDVHHSF8S5WCPH	pruned		deploy	provisioner:slipway_provisioner	success		0	3
	failed		~touch				0	39
01M7Z18RCRSEBDKRG00Z75KXN7	pruned		~touch				0	10
01M7YZMHG0G044V3FKE1DRP8TQ	running	control	deploy	provisioner:slipway_provisioner	success		0	2
	failed	control	grouped	provisioner:slipway_provisioner	success	wanted	0	1
	running	control	grouped	provisioner:slipway_provisioner	success	wanted	0	2
	beside		grouped	provisioner:slipway_provisioner	processing	nothing	0	5
	beside	compute	grouped	provisioner:slipway_provisioner	processing	nothing	0	3
01M7Z03F18K3SZW2GYDZSYZXGE	running	storage	prepare	provisioner:slipway_provisioner	pending		0	2
	running	compute	grouped	provisioner:slipway_provisioner	processing	nothing	0	2
01M7Z03F18K3SZW2GYDZSYZXGE	running		deploy	provisioner:slipway_provisioner	processing		0	2
01M7Z0ENE0YHM3KR54HQA28J0A	beside	control	deploy	provisioner:slipway_provisioner	pending		0	2
01M7Z03F18K3SZW2GYDZSYZXGE	running		prepare	provisioner:slipway_provisioner	pending		0	2
	other		~touch				0	1
01M7Z0M84R25HZD70V5BJ8BB3A	failed	control	prepare	provisioner:slipway_provisioner	success		0	2
	led		~touch				0	39
01M7Z0ENE0YHM3KR54HQA28J0A	beside		prepare	provisioner:slipway_provisioner	pending		0	1
	failed	control	grouped	provisioner:slipway_provisioner	error	nothing	0	1
	running		~touch				0	84
01M7Z0M84R25HZD70V5BJ8BB3A	failed	control	deploy	provisioner:slipway_provisioner	success		0	1
01M7Z0M84R25HZD70V5BJ8BB3A	failed		deploy	provisioner:slipway_provisioner	error		0	2
	failed	compute	grouped	provisioner:slipway_provisioner	error	nothing	0	2
01M7Z03F18K3SZW2GYDZSYZXGE	running	compute	prepare	provisioner:slipway_provisioner	error		0	1
	running	storage	grouped	provisioner:slipway_provisioner	success	wanted	0	2
	led	all	grouped	provisioner:slipway_provisioner	error	nothing	0	1
01M7Z03F18K3SZW2GYDZSYZXGE	running	storage	deploy	provisioner:slipway_provisioner	pending		0	2
01M7Z0ZEHGX1KYSR8PVHYMPW7N	failed		~touch				0	1
	beside	storage	grouped	provisioner:slipway_provisioner	pending	nothing	0	2
01M7Z0ENE0YHM3KR54HQA28J0A	beside		~touch				0	21
	running	compute	grouped	provisioner:slipway_provisioner	error	nothing	0	1
01M7YZMHG0G044V3FKE1DRP8TQ	running	control	prepare	provisioner:slipway_provisioner	success		0	2
01M7Z1194GVNHDVHHSF8S5WCPH	pruned		prepare	provisioner:slipway_provisioner	success		0	3
01M7Z0ENE0YHM3KR54HQA28J0A	beside		deploy	provisioner:slipway_provisioner	pending		0	6
01M7Z0M84R25HZD70V5BJ8BB3A	failed	compute	deploy	provisioner:slipway_provisioner	success		0	1
01M7Z0M84R25HZD70V5BJ8BB3A	failed	compute	prepare	provisioner:slipway_provisioner	success		0	3
01M7Z0M84R25HZD70V5BJ8BB3A	failed		deploy	provisioner:slipway_provisioner	success		0	2
01M7Z0M84R25HZD70V5BJ8BB3A	failed		deploy	provisioner:slipway_provisioner	unknown		0	1
	beside		~touch				0	22
\.


--
-- Data for Name: task; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.task (action_id, node, phase, owner_group, op, status, error, digest, found, started, ended, owner, fixed, wanted_version, tries, done_op, done_revision, held) FROM stdin;
01M7YZMHG0G044V3FKE1DRP8TQ	c1	prepare	control	3	success	\N	\N	ready	2026-11-21 12:02:03+00	2026-11-21 12:03:04+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	c2	prepare	control	3	success	\N	\N	ready	2026-11-21 12:02:03+00	2026-11-21 12:03:04+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	c1	deploy	control	4	success	\N	3:31340d4192a1da807fa784150640d602e0adf48b21528be3efa6acc2f1e90b42:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:03:04+00	2026-11-21 12:04:05+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	c2	deploy	control	4	success	\N	3:70899648c1c8f7de0ce5a9c4d5415612f3d7189471d1cc8ff3eb44af25450b49:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:03:04+00	2026-11-21 12:04:05+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	w1	prepare	compute	5	success	\N	\N	ready	2026-11-21 12:04:05+00	2026-11-21 12:05:06+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	w2	prepare	compute	5	success	\N	\N	ready	2026-11-21 12:04:05+00	2026-11-21 12:05:06+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	w3	prepare	compute	5	success	\N	\N	ready	2026-11-21 12:04:05+00	2026-11-21 12:05:06+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	w1	deploy	compute	6	success	\N	3:95738da3de539f32d4a16e950557248c500858dba2b55a6f81d526fe88be4fc5:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:05:06+00	2026-11-21 12:06:07+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	w2	deploy	compute	6	success	\N	3:9f7e379ff3ac0a7b943a23a825265b773881473af6eb98454b1befbe35e5e7a7:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:05:06+00	2026-11-21 12:06:07+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	w3	deploy	compute	6	success	\N	3:95a6d0728ac64cf44eb6163b0eab3f159f466528f63cd8cb66260ee09fbc6349:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:05:06+00	2026-11-21 12:06:07+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	s1	prepare	storage	7	success	\N	\N	ready	2026-11-21 12:06:07+00	2026-11-21 12:07:08+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	s2	prepare	storage	7	success	\N	\N	ready	2026-11-21 12:06:07+00	2026-11-21 12:07:08+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	s1	deploy	storage	8	success	\N	3:43b272d335e8340b0ba0f6cfe980f86fd858d65a663d111ed790178a557835d5:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:07:08+00	2026-11-21 12:08:09+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7YZMHG0G044V3FKE1DRP8TQ	s2	deploy	storage	8	success	\N	3:e8ddc854de017ad0706ef00bb8e9bbbd96a8b44e13e2960c2eacbac9eb1aa07e:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:07:08+00	2026-11-21 12:08:09+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	s1	prepare	\N	\N	pending	\N	\N	\N	\N	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	s2	prepare	\N	\N	pending	\N	\N	\N	\N	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	c1	prepare	control	11	success	\N	\N	ready	2026-11-21 12:10:12+00	2026-11-21 12:11:13+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	c2	prepare	control	11	success	\N	\N	ready	2026-11-21 12:10:12+00	2026-11-21 12:11:13+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	w1	prepare	compute	13	success	\N	\N	ready	2026-11-21 12:12:14+00	2026-11-21 12:13:15+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	w2	prepare	compute	13	success	\N	\N	ready	2026-11-21 12:12:14+00	2026-11-21 12:13:15+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	w3	prepare	compute	13	error	no boot disk was found	\N	ready	2026-11-21 12:12:14+00	2026-11-21 12:13:15+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	s1	deploy	\N	\N	pending	\N	3:43b272d335e8340b0ba0f6cfe980f86fd858d65a663d111ed790178a557835d5:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	\N	\N	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	s2	deploy	\N	\N	pending	\N	3:e8ddc854de017ad0706ef00bb8e9bbbd96a8b44e13e2960c2eacbac9eb1aa07e:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	\N	\N	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	w3	deploy	\N	\N	pending	\N	3:95a6d0728ac64cf44eb6163b0eab3f159f466528f63cd8cb66260ee09fbc6349:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	\N	\N	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	c1	deploy	control	12	success	\N	3:31340d4192a1da807fa784150640d602e0adf48b21528be3efa6acc2f1e90b42:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:11:13+00	2026-11-21 12:12:14+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	c2	deploy	control	12	success	\N	3:70899648c1c8f7de0ce5a9c4d5415612f3d7189471d1cc8ff3eb44af25450b49:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:11:13+00	2026-11-21 12:12:14+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	w1	deploy	compute	14	processing	\N	3:95738da3de539f32d4a16e950557248c500858dba2b55a6f81d526fe88be4fc5:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:13:15+00	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z03F18K3SZW2GYDZSYZXGE	w2	deploy	compute	14	processing	\N	3:9f7e379ff3ac0a7b943a23a825265b773881473af6eb98454b1befbe35e5e7a7:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:13:15+00	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	s1	prepare	\N	\N	pending	\N	\N	\N	\N	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	c1	deploy	\N	\N	pending	\N	3:b1079b8720ac025af21ce2010da5d43270b4d8ed5f41fef7a7eba4dff5a2f469:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	\N	\N	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	s2	prepare	\N	\N	withheld	maintenance: its disk is changed	\N	\N	2026-11-21 12:14:17+00	2026-11-21 12:14:17+00	provisioner:slipway_provisioner	\N	1	1	15	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	c1	prepare	control	18	processing	\N	\N	ready	2026-11-21 12:16:19+00	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	c2	prepare	control	18	processing	\N	\N	ready	2026-11-21 12:16:19+00	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	w1	prepare	compute	19	processing	\N	\N	ready	2026-11-21 12:16:19+00	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	w2	prepare	compute	19	processing	\N	\N	ready	2026-11-21 12:16:19+00	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	w3	prepare	compute	19	processing	\N	\N	ready	2026-11-21 12:16:19+00	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	c2	deploy	\N	\N	pending	\N	3:ccc930f87fa136ccd16923e55480738537a977c5f86fd1aa6e4ef4fbc209a84a:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	\N	\N	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	s1	deploy	\N	\N	pending	\N	3:aed6dd242ecf864073380b2706787b007c7fe1926ca1ed68dcf8c8c7660a71dc:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	\N	\N	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	w1	deploy	\N	\N	pending	\N	3:62c1bfdf4c83d066299ce95b8532854e6bb40201531f208088ac95a10e5b0553:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	\N	\N	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	w2	deploy	\N	\N	pending	\N	3:7fb5da835be512d2043a9b4a5f0616145513ab868cce33a45590edc451b590bc:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	\N	\N	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	w3	deploy	\N	\N	pending	\N	3:ba044e9608271107f9968604ed0d0b5e7b2b9ceda98af7d7a30529264f15d3d4:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	\N	\N	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0M84R25HZD70V5BJ8BB3A	c1	deploy	control	23	success	\N	3:fdad890add2ae99b8e30ae7077e88028d789fc42ba5c7bd10c561208ab558aee:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:20:23+00	2026-11-21 12:21:24+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0ENE0YHM3KR54HQA28J0A	s2	deploy	\N	\N	withheld	maintenance: its disk is changed	3:1b6886a6faf94a238cc5d73ee8603cde67a0088178839051655973083a187a75:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	\N	2026-11-21 12:14:17+00	2026-11-21 12:14:17+00	provisioner:slipway_provisioner	\N	1	1	15	\N	\N
01M7Z0M84R25HZD70V5BJ8BB3A	c1	prepare	control	22	success	\N	\N	ready	2026-11-21 12:19:22+00	2026-11-21 12:20:23+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0M84R25HZD70V5BJ8BB3A	c2	prepare	control	22	success	\N	\N	ready	2026-11-21 12:19:22+00	2026-11-21 12:20:23+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0M84R25HZD70V5BJ8BB3A	c2	deploy	control	23	error	no boot disk was found	3:669e80dcd8d7d1ea7dad4ab786d0fada0dff2b0cec4c6d4be855618ca4438fab:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:20:23+00	2026-11-21 12:21:24+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0M84R25HZD70V5BJ8BB3A	w1	prepare	compute	24	success	\N	\N	ready	2026-11-21 12:21:24+00	2026-11-21 12:22:25+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0M84R25HZD70V5BJ8BB3A	w2	prepare	compute	24	success	\N	\N	ready	2026-11-21 12:21:24+00	2026-11-21 12:22:25+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0M84R25HZD70V5BJ8BB3A	w3	prepare	compute	24	success	\N	\N	ready	2026-11-21 12:21:24+00	2026-11-21 12:22:25+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0M84R25HZD70V5BJ8BB3A	w3	deploy	compute	25	success	\N	3:b6b7c5b499c95b25bfd508f2ea2c286a1a2d98317418f98d75b98f90022f5682:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:22:25+00	2026-11-21 12:23:26+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0M84R25HZD70V5BJ8BB3A	w1	deploy	compute	25	error	no boot disk was found	3:d3d0ba994fd327a235c43a0e71d88ea82f17ad6ac1a174e907c6e9cdd9143ffa:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:22:25+00	2026-11-21 12:23:26+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z0M84R25HZD70V5BJ8BB3A	w2	deploy	compute	25	unknown	\N	3:a6793289c9b80baa29b1ec52f53d568a5a6cb19a30fad4f083e330d66c55e5c4:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:22:25+00	2026-11-21 12:23:26+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z1194GVNHDVHHSF8S5WCPH	n1	prepare	all	28	success	\N	\N	ready	2026-11-21 12:26:29+00	2026-11-21 12:27:30+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z1194GVNHDVHHSF8S5WCPH	n2	prepare	all	28	success	\N	\N	ready	2026-11-21 12:26:29+00	2026-11-21 12:27:30+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z1194GVNHDVHHSF8S5WCPH	n3	prepare	all	28	success	\N	\N	ready	2026-11-21 12:26:29+00	2026-11-21 12:27:30+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z1194GVNHDVHHSF8S5WCPH	n1	deploy	all	29	success	\N	3:9b592cac70ed335f677fbe96af3dd69fe1f9122140a9b38979f4f21e54252e6b:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:27:30+00	2026-11-21 12:28:31+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z1194GVNHDVHHSF8S5WCPH	n2	deploy	all	29	success	\N	3:bcfa4e38aa8ed4b49eb079162cf2dc58b80df344d934d8a0cacc3c1ca30ae8b9:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:27:30+00	2026-11-21 12:28:31+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z1194GVNHDVHHSF8S5WCPH	n3	deploy	all	29	success	\N	3:6de34026afeefcd1dbef084a710f7a1c1802cf8bfddc882e06f8e52a4d3f9d74:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:27:30+00	2026-11-21 12:28:31+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z1CGGG6TE4F7N5GYFVHV8X	n1	prepare	all	34	success	\N	\N	ready	2026-11-21 12:32:37+00	2026-11-21 12:33:38+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z1CGGG6TE4F7N5GYFVHV8X	n2	prepare	all	34	success	\N	\N	ready	2026-11-21 12:32:37+00	2026-11-21 12:33:38+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z18RCRSEBDKRG00Z75KXN7	n1	deploy	\N	\N	success	\N	3:9b592cac70ed335f677fbe96af3dd69fe1f9122140a9b38979f4f21e54252e6b:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	\N	2026-11-21 12:28:32+00	2026-11-21 12:28:32+00	provisioner:slipway_provisioner	\N	1	1	29	1	\N
01M7Z18RCRSEBDKRG00Z75KXN7	n1	prepare	\N	\N	success	\N	\N	\N	2026-11-21 12:28:32+00	2026-11-21 12:28:32+00	provisioner:slipway_provisioner	\N	1	1	29	1	\N
01M7Z1CGGG6TE4F7N5GYFVHV8X	n3	prepare	all	34	success	\N	\N	ready	2026-11-21 12:32:37+00	2026-11-21 12:33:38+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z1CGGG6TE4F7N5GYFVHV8X	n4	prepare	all	34	success	\N	\N	ready	2026-11-21 12:32:37+00	2026-11-21 12:33:38+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z18RCRSEBDKRG00Z75KXN7	n2	destroy_nodes	\N	30	success	\N	\N	ready	2026-11-21 12:28:32+00	2026-11-21 12:29:33+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z18RCRSEBDKRG00Z75KXN7	n3	destroy_nodes	\N	31	processing	\N	\N	\N	2026-11-21 12:29:33+00	\N	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z1CGGG6TE4F7N5GYFVHV8X	n1	deploy	all	35	success	\N	3:c6e5ad1e5f8d5b8952b00987d7c237ae91b44b48204cf0ea145e898c728c6ef9:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:33:38+00	2026-11-21 12:34:39+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z1CGGG6TE4F7N5GYFVHV8X	n2	deploy	all	35	success	\N	3:cc712c75047556a083c5c2d5efa51f60d213d2039e83ee29e3ba051df8cf3912:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:33:38+00	2026-11-21 12:34:39+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z1CGGG6TE4F7N5GYFVHV8X	n3	deploy	all	35	success	\N	3:b9487a54a9a3e6b570b989c9bb95d6edae77d36c0d1dfd4367b1e6c394580d33:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:33:38+00	2026-11-21 12:34:39+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
01M7Z1CGGG6TE4F7N5GYFVHV8X	n4	deploy	all	35	success	\N	3:d15e55a0b1bdae1a5e0a1712890b3e0053cd36cc98d528fbbf29defec5e68e04:f0bce2c341e6b420b8558b9fc24e4840c9a39d61c1fc6e34f40287a4ff108ab0	ready	2026-11-21 12:33:38+00	2026-11-21 12:34:39+00	provisioner:slipway_provisioner	\N	1	1	\N	\N	\N
\.


--
-- Data for Name: task_trouble; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.task_trouble (action_id, owner_group, node, phase, status) FROM stdin;
01M7Z03F18K3SZW2GYDZSYZXGE	compute	w3	prepare	error
01M7Z0M84R25HZD70V5BJ8BB3A	control	c2	deploy	error
01M7Z0M84R25HZD70V5BJ8BB3A	compute	w1	deploy	error
01M7Z0M84R25HZD70V5BJ8BB3A	compute	w2	deploy	unknown
\.


--
-- Data for Name: user_state; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.user_state (site, node, state, reason, until, set_by, set_at) FROM stdin;
led	n2	maintenance	new disk	\N	ann	2026-11-21 12:36:09+00
\.


--
-- Name: content_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.content_id_seq', 21, true);


--
-- Name: event_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.event_id_seq', 94, true);


--
-- Name: operation_op_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.operation_op_seq', 35, true);


--
-- Name: outbox_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.outbox_id_seq', 16, true);


--
-- Name: revision_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.revision_id_seq', 8, true);


--
-- Name: action pk_action; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.action
    ADD CONSTRAINT pk_action PRIMARY KEY (id);


--
-- Name: action_audit pk_action_audit; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.action_audit
    ADD CONSTRAINT pk_action_audit PRIMARY KEY (id);


--
-- Name: action_report pk_action_report; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.action_report
    ADD CONSTRAINT pk_action_report PRIMARY KEY (action_id);


--
-- Name: action_step pk_action_step; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.action_step
    ADD CONSTRAINT pk_action_step PRIMARY KEY (action_id, name, group_name);


--
-- Name: approval pk_approval; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.approval
    ADD CONSTRAINT pk_approval PRIMARY KEY (action_id, group_name, attempt, moment);


--
-- Name: buffer pk_buffer; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.buffer
    ADD CONSTRAINT pk_buffer PRIMARY KEY (site);


--
-- Name: buffer_collection pk_buffer_collection; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.buffer_collection
    ADD CONSTRAINT pk_buffer_collection PRIMARY KEY (site, name);


--
-- Name: candidate pk_candidate; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.candidate
    ADD CONSTRAINT pk_candidate PRIMARY KEY (token);


--
-- Name: check_result pk_check_result; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.check_result
    ADD CONSTRAINT pk_check_result PRIMARY KEY (subject);


--
-- Name: content pk_content; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.content
    ADD CONSTRAINT pk_content PRIMARY KEY (id);


--
-- Name: delivery pk_delivery; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT pk_delivery PRIMARY KEY (outbox_id, target);


--
-- Name: design_object pk_design_object; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.design_object
    ADD CONSTRAINT pk_design_object PRIMARY KEY (site, kind, name);


--
-- Name: document pk_document; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.document
    ADD CONSTRAINT pk_document PRIMARY KEY (content_id, "position");


--
-- Name: event pk_event; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.event
    ADD CONSTRAINT pk_event PRIMARY KEY (id);


--
-- Name: group_node pk_group_node; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.group_node
    ADD CONSTRAINT pk_group_node PRIMARY KEY (action_id, group_name, node);


--
-- Name: group_run pk_group_run; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.group_run
    ADD CONSTRAINT pk_group_run PRIMARY KEY (action_id, name);


--
-- Name: lease pk_lease; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.lease
    ADD CONSTRAINT pk_lease PRIMARY KEY (name);


--
-- Name: node pk_node; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node
    ADD CONSTRAINT pk_node PRIMARY KEY (site, name);


--
-- Name: node_drift pk_node_drift; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_drift
    ADD CONSTRAINT pk_node_drift PRIMARY KEY (site, node, since);


--
-- Name: node_error pk_node_error; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_error
    ADD CONSTRAINT pk_node_error PRIMARY KEY (site, node, op);


--
-- Name: node_question pk_node_question; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_question
    ADD CONSTRAINT pk_node_question PRIMARY KEY (op);


--
-- Name: node_trouble pk_node_trouble; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_trouble
    ADD CONSTRAINT pk_node_trouble PRIMARY KEY (site, node);


--
-- Name: node_view pk_node_view; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_view
    ADD CONSTRAINT pk_node_view PRIMARY KEY (site, node);


--
-- Name: operation pk_operation; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.operation
    ADD CONSTRAINT pk_operation PRIMARY KEY (op);


--
-- Name: outbox pk_outbox; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT pk_outbox PRIMARY KEY (id);


--
-- Name: owner pk_owner; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.owner
    ADD CONSTRAINT pk_owner PRIMARY KEY (name);


--
-- Name: provisioner_call pk_provisioner_call; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.provisioner_call
    ADD CONSTRAINT pk_provisioner_call PRIMARY KEY (owner, call, result, bucket);


--
-- Name: provisioner_list pk_provisioner_list; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.provisioner_list
    ADD CONSTRAINT pk_provisioner_list PRIMARY KEY (site);


--
-- Name: repair pk_repair; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.repair
    ADD CONSTRAINT pk_repair PRIMARY KEY (site, node, cause, attempt);


--
-- Name: repair_switch pk_repair_switch; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.repair_switch
    ADD CONSTRAINT pk_repair_switch PRIMARY KEY (site);


--
-- Name: reported pk_reported; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.reported
    ADD CONSTRAINT pk_reported PRIMARY KEY (site, action_id, parent, name, owner);


--
-- Name: reporter pk_reporter; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.reporter
    ADD CONSTRAINT pk_reporter PRIMARY KEY (id);


--
-- Name: revision pk_revision; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.revision
    ADD CONSTRAINT pk_revision PRIMARY KEY (id);


--
-- Name: revision_collection pk_revision_collection; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.revision_collection
    ADD CONSTRAINT pk_revision_collection PRIMARY KEY (revision_id, name);


--
-- Name: shared_list pk_shared_list; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.shared_list
    ADD CONSTRAINT pk_shared_list PRIMARY KEY (name);


--
-- Name: site pk_site; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.site
    ADD CONSTRAINT pk_site PRIMARY KEY (name);


--
-- Name: site_audit pk_site_audit; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.site_audit
    ADD CONSTRAINT pk_site_audit PRIMARY KEY (id);


--
-- Name: site_group pk_site_group; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.site_group
    ADD CONSTRAINT pk_site_group PRIMARY KEY (site, name);


--
-- Name: site_group_node pk_site_group_node; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.site_group_node
    ADD CONSTRAINT pk_site_group_node PRIMARY KEY (site, group_name, node);


--
-- Name: site_lock pk_site_lock; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.site_lock
    ADD CONSTRAINT pk_site_lock PRIMARY KEY (site);


--
-- Name: site_stop pk_site_stop; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.site_stop
    ADD CONSTRAINT pk_site_stop PRIMARY KEY (site);


--
-- Name: site_trouble pk_site_trouble; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.site_trouble
    ADD CONSTRAINT pk_site_trouble PRIMARY KEY (site, group_name, standing, node);


--
-- Name: site_view pk_site_view; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.site_view
    ADD CONSTRAINT pk_site_view PRIMARY KEY (site);


--
-- Name: site_view_change pk_site_view_change; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.site_view_change
    ADD CONSTRAINT pk_site_view_change PRIMARY KEY (site, epoch, number);


--
-- Name: status_count pk_status_count; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.status_count
    ADD CONSTRAINT pk_status_count PRIMARY KEY (action_id, site, group_name, phase, owner, status, serves, part);


--
-- Name: task pk_task; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.task
    ADD CONSTRAINT pk_task PRIMARY KEY (action_id, node, phase);


--
-- Name: task_trouble pk_task_trouble; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.task_trouble
    ADD CONSTRAINT pk_task_trouble PRIMARY KEY (action_id, owner_group, node, phase);


--
-- Name: user_state pk_user_state; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_state
    ADD CONSTRAINT pk_user_state PRIMARY KEY (site, node);


--
-- Name: slipway_schema_version slipway_schema_version_pkc; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.slipway_schema_version
    ADD CONSTRAINT slipway_schema_version_pkc PRIMARY KEY (version_num);


--
-- Name: action uq_action_dag_id_run_id; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.action
    ADD CONSTRAINT uq_action_dag_id_run_id UNIQUE (dag_id, run_id);


--
-- Name: content uq_content_site_digest; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.content
    ADD CONSTRAINT uq_content_site_digest UNIQUE (site, digest);


--
-- Name: operation uq_operation_action_id_group_name_attempt_phase_round; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.operation
    ADD CONSTRAINT uq_operation_action_id_group_name_attempt_phase_round UNIQUE (action_id, group_name, attempt, phase, round);


--
-- Name: operation uq_operation_reference; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.operation
    ADD CONSTRAINT uq_operation_reference UNIQUE (reference);


--
-- Name: outbox uq_outbox_event_id; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT uq_outbox_event_id UNIQUE (event_id);


--
-- Name: reporter uq_reporter_token_hash; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.reporter
    ADD CONSTRAINT uq_reporter_token_hash UNIQUE (token_hash);


--
-- Name: revision uq_revision_design_token; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.revision
    ADD CONSTRAINT uq_revision_design_token UNIQUE (design_token);


--
-- Name: revision uq_revision_site_number; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.revision
    ADD CONSTRAINT uq_revision_site_number UNIQUE (site, number);


--
-- Name: site_lock uq_site_lock_action_id; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.site_lock
    ADD CONSTRAINT uq_site_lock_action_id UNIQUE (action_id);


--
-- Name: ix_action_audit_action_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_action_audit_action_id ON public.action_audit USING btree (action_id);


--
-- Name: ix_action_not_noted; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_action_not_noted ON public.action USING btree (id) WHERE ((noted IS NULL) AND (ended IS NOT NULL));


--
-- Name: ix_action_open; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_action_open ON public.action USING btree (id) WHERE ((state)::text = ANY ((ARRAY['pending'::character varying, 'running'::character varying])::text[]));


--
-- Name: ix_action_site_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_action_site_id ON public.action USING btree (site, id);


--
-- Name: ix_delivery_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_delivery_due ON public.delivery USING btree (next_try) WHERE (delivered IS NULL);


--
-- Name: ix_event_action_id_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_event_action_id_id ON public.event USING btree (action_id, id);


--
-- Name: ix_event_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_event_at ON public.event USING btree (at);


--
-- Name: ix_event_site_node_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_event_site_node_id ON public.event USING btree (site, node, id) WHERE (node IS NOT NULL);


--
-- Name: ix_group_node_action_id_node; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_group_node_action_id_node ON public.group_node USING btree (action_id, node);


--
-- Name: ix_node_drift_open; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_drift_open ON public.node_drift USING btree (site, node) WHERE (ended IS NULL);


--
-- Name: ix_node_error_action_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_error_action_id ON public.node_error USING btree (action_id);


--
-- Name: ix_node_error_to_report; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_error_to_report ON public.node_error USING btree (site, node, op) WHERE ((state)::text = ANY ((ARRAY['failed'::character varying, 'reported'::character varying])::text[]));


--
-- Name: ix_node_site_done_revision_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_site_done_revision_name ON public.node USING btree (site, done_revision, name);


--
-- Name: ix_node_site_last_updated_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_site_last_updated_name ON public.node USING btree (site, last_updated, name);


--
-- Name: ix_node_site_power_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_site_power_name ON public.node USING btree (site, power, name);


--
-- Name: ix_node_site_provisioner_status_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_site_provisioner_status_name ON public.node USING btree (site, provisioner_status, name);


--
-- Name: ix_node_site_rack_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_site_rack_name ON public.node USING btree (site, rack, name);


--
-- Name: ix_node_site_serves_wanted_revision; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_site_serves_wanted_revision ON public.node USING btree (site, serves, wanted_revision);


--
-- Name: ix_node_site_standing_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_site_standing_name ON public.node USING btree (site, standing, name);


--
-- Name: ix_node_view_site_crashes; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_view_site_crashes ON public.node_view USING btree (site, crashes, node);


--
-- Name: ix_node_view_site_reported; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_view_site_reported ON public.node_view USING btree (site, reported, node);


--
-- Name: ix_node_view_site_since; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_view_site_since ON public.node_view USING btree (site, since, node);


--
-- Name: ix_node_view_site_state; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_view_site_state ON public.node_view USING btree (site, state, node);


--
-- Name: ix_node_with_capitals; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_with_capitals ON public.node USING btree (site, name) WHERE ((name)::text <> lower((name)::text));


--
-- Name: ix_node_with_error; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_node_with_error ON public.node USING btree (site, name) WHERE (error IS NOT NULL);


--
-- Name: ix_operation_not_over; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_operation_not_over ON public.operation USING btree (site) WHERE (over IS NULL);


--
-- Name: ix_operation_site_op; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_operation_site_op ON public.operation USING btree (site, op);


--
-- Name: ix_operation_without_group; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX ix_operation_without_group ON public.operation USING btree (action_id, attempt, phase, round) WHERE (group_name IS NULL);


--
-- Name: ix_outbox_not_routed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_outbox_not_routed ON public.outbox USING btree (id) WHERE (routed IS NULL);


--
-- Name: ix_repair_site_begun; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_repair_site_begun ON public.repair USING btree (site, begun);


--
-- Name: ix_reporter_site; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_reporter_site ON public.reporter USING btree (site);


--
-- Name: ix_revision_collection_content_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_revision_collection_content_id ON public.revision_collection USING btree (content_id);


--
-- Name: ix_site_audit_site_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_site_audit_site_id ON public.site_audit USING btree (site, id);


--
-- Name: ix_site_group_node_site_node; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_site_group_node_site_node ON public.site_group_node USING btree (site, node);


--
-- Name: ix_site_view_change_published_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_site_view_change_published_at ON public.site_view_change USING btree (published_at);


--
-- Name: ix_task_op_node; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_task_op_node ON public.task USING btree (op, node);


--
-- Name: ix_user_state_site_state; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_user_state_site_state ON public.user_state USING btree (site, state);


--
-- Name: group_node count_group_node_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER count_group_node_delete AFTER DELETE ON public.group_node REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_count_group_node();


--
-- Name: group_node count_group_node_insert; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER count_group_node_insert AFTER INSERT ON public.group_node REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_count_group_node();


--
-- Name: node count_node_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER count_node_delete AFTER DELETE ON public.node REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_count_node();


--
-- Name: node count_node_insert; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER count_node_insert AFTER INSERT ON public.node REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_count_node();


--
-- Name: node count_node_update; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER count_node_update AFTER UPDATE ON public.node REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_count_node();


--
-- Name: site_group_node count_site_group_node_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER count_site_group_node_delete AFTER DELETE ON public.site_group_node REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_count_site_group_node();


--
-- Name: site_group_node count_site_group_node_insert; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER count_site_group_node_insert AFTER INSERT ON public.site_group_node REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_count_site_group_node();


--
-- Name: task count_task_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER count_task_delete AFTER DELETE ON public.task REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_count_task();


--
-- Name: task count_task_insert; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER count_task_insert AFTER INSERT ON public.task REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_count_task();


--
-- Name: task count_task_update; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER count_task_update AFTER UPDATE ON public.task REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_count_task();


--
-- Name: action touch_action; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER touch_action AFTER INSERT OR DELETE OR UPDATE ON public.action FOR EACH ROW EXECUTE FUNCTION public.slipway_touch_action();


--
-- Name: action_report touch_action_report; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER touch_action_report AFTER INSERT OR DELETE OR UPDATE ON public.action_report FOR EACH ROW EXECUTE FUNCTION public.slipway_touch_action_row();


--
-- Name: action_step touch_action_step; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER touch_action_step AFTER INSERT OR DELETE OR UPDATE ON public.action_step FOR EACH ROW EXECUTE FUNCTION public.slipway_touch_action_row();


--
-- Name: approval touch_approval; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER touch_approval AFTER INSERT OR DELETE OR UPDATE ON public.approval FOR EACH ROW EXECUTE FUNCTION public.slipway_touch_action_row();


--
-- Name: group_run touch_group_run; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER touch_group_run AFTER INSERT OR DELETE OR UPDATE ON public.group_run FOR EACH ROW EXECUTE FUNCTION public.slipway_touch_action_row();


--
-- Name: operation touch_operation; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER touch_operation AFTER INSERT OR DELETE OR UPDATE OF provisioner_task, running_since, ended, over, status, result ON public.operation FOR EACH ROW EXECUTE FUNCTION public.slipway_touch_action_row();


--
-- Name: reported touch_reported; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER touch_reported AFTER INSERT OR DELETE OR UPDATE ON public.reported FOR EACH ROW EXECUTE FUNCTION public.slipway_touch_reported();


--
-- Name: revision touch_revision; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER touch_revision AFTER INSERT ON public.revision FOR EACH ROW EXECUTE FUNCTION public.slipway_touch_revision();


--
-- Name: node trouble_node_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trouble_node_delete AFTER DELETE ON public.node REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_trouble_node();


--
-- Name: node trouble_node_insert; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trouble_node_insert AFTER INSERT ON public.node REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_trouble_node();


--
-- Name: node trouble_node_update; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trouble_node_update AFTER UPDATE ON public.node REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_trouble_node();


--
-- Name: task trouble_task_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trouble_task_delete AFTER DELETE ON public.task REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_trouble_task();


--
-- Name: task trouble_task_insert; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trouble_task_insert AFTER INSERT ON public.task REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_trouble_task();


--
-- Name: task trouble_task_update; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trouble_task_update AFTER UPDATE ON public.task REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.slipway_trouble_task();


--
-- Name: action_audit fk_action_audit_action; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.action_audit
    ADD CONSTRAINT fk_action_audit_action FOREIGN KEY (action_id) REFERENCES public.action(id) ON DELETE CASCADE;


--
-- Name: action_report fk_action_report_action; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.action_report
    ADD CONSTRAINT fk_action_report_action FOREIGN KEY (action_id) REFERENCES public.action(id) ON DELETE CASCADE;


--
-- Name: action_step fk_action_step_action; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.action_step
    ADD CONSTRAINT fk_action_step_action FOREIGN KEY (action_id) REFERENCES public.action(id) ON DELETE CASCADE;


--
-- Name: approval fk_approval_action; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.approval
    ADD CONSTRAINT fk_approval_action FOREIGN KEY (action_id) REFERENCES public.action(id) ON DELETE CASCADE;


--
-- Name: buffer_collection fk_buffer_collection_buffer; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.buffer_collection
    ADD CONSTRAINT fk_buffer_collection_buffer FOREIGN KEY (site) REFERENCES public.buffer(site);


--
-- Name: buffer_collection fk_buffer_collection_content; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.buffer_collection
    ADD CONSTRAINT fk_buffer_collection_content FOREIGN KEY (content_id) REFERENCES public.content(id);


--
-- Name: delivery fk_delivery_outbox; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT fk_delivery_outbox FOREIGN KEY (outbox_id) REFERENCES public.outbox(id) ON DELETE CASCADE;


--
-- Name: document fk_document_content; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.document
    ADD CONSTRAINT fk_document_content FOREIGN KEY (content_id) REFERENCES public.content(id) ON DELETE CASCADE;


--
-- Name: group_node fk_group_node_group_run; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.group_node
    ADD CONSTRAINT fk_group_node_group_run FOREIGN KEY (action_id, group_name) REFERENCES public.group_run(action_id, name) ON DELETE CASCADE;


--
-- Name: group_run fk_group_run_action; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.group_run
    ADD CONSTRAINT fk_group_run_action FOREIGN KEY (action_id) REFERENCES public.action(id) ON DELETE CASCADE;


--
-- Name: node_question fk_node_question_operation; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_question
    ADD CONSTRAINT fk_node_question_operation FOREIGN KEY (op) REFERENCES public.operation(op) ON DELETE CASCADE;


--
-- Name: operation fk_operation_action; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.operation
    ADD CONSTRAINT fk_operation_action FOREIGN KEY (action_id) REFERENCES public.action(id) ON DELETE CASCADE;


--
-- Name: revision_collection fk_revision_collection_content; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.revision_collection
    ADD CONSTRAINT fk_revision_collection_content FOREIGN KEY (content_id) REFERENCES public.content(id);


--
-- Name: revision_collection fk_revision_collection_revision; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.revision_collection
    ADD CONSTRAINT fk_revision_collection_revision FOREIGN KEY (revision_id) REFERENCES public.revision(id);


--
-- Name: revision fk_revision_content; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.revision
    ADD CONSTRAINT fk_revision_content FOREIGN KEY (design_id) REFERENCES public.content(id);


--
-- Name: revision fk_revision_secrets; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.revision
    ADD CONSTRAINT fk_revision_secrets FOREIGN KEY (secrets_id) REFERENCES public.content(id);


--
-- Name: revision fk_revision_site; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.revision
    ADD CONSTRAINT fk_revision_site FOREIGN KEY (site) REFERENCES public.site(name);


--
-- Name: site_group_node fk_site_group_node_site_group; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.site_group_node
    ADD CONSTRAINT fk_site_group_node_site_group FOREIGN KEY (site, group_name) REFERENCES public.site_group(site, name) ON DELETE CASCADE;


--
-- Name: site_lock fk_site_lock_action; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.site_lock
    ADD CONSTRAINT fk_site_lock_action FOREIGN KEY (action_id) REFERENCES public.action(id);


--
-- Name: task fk_task_action; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.task
    ADD CONSTRAINT fk_task_action FOREIGN KEY (action_id) REFERENCES public.action(id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--

\unrestrict slipway

