-- What a database contains, a line for each object: its kind, its name and its definition. Neither the order of columns
-- nor object ids are in it, so two databases with the same lines behave the same.
SET search_path = pg_catalog;
WITH
-- The public schema's own relations, types and functions, without those of extensions.
mine AS (
    SELECT c.* FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')),
routines AS (
    SELECT p.* FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')),
lines (kind, name, definition) AS (
    SELECT 'schema', n.nspname, concat_ws(' ', n.nspowner::regrole, (SELECT array_agg(a::text ORDER BY a::text)
        FROM unnest(n.nspacl) AS a)) FROM pg_namespace n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    UNION ALL SELECT 'extension', e.extname, e.extversion FROM pg_extension e
    UNION ALL SELECT 'setting', coalesce(s.setrole::regrole::text, ''), array_to_string(s.setconfig, ' ')
        FROM pg_db_role_setting s WHERE s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
    UNION ALL SELECT 'default privilege', concat_ws(' ', d.defaclrole::regrole, d.defaclobjtype, a), ''
        FROM pg_default_acl d, unnest(d.defaclacl) AS a
    UNION ALL SELECT CASE c.relkind WHEN 'r' THEN 'table' ELSE 'relation ' || c.relkind::text END, c.relname, concat_ws(' ',
            c.relowner::regrole, c.relpersistence, c.reloptions::text, c.relreplident,
            CASE WHEN c.relrowsecurity THEN 'row security' END, CASE WHEN c.relforcerowsecurity THEN 'forced' END)
        FROM mine c WHERE c.relkind <> 'i'
    UNION ALL SELECT 'grant', concat_ws(' ', c.relname, a.grantee::regrole, a.privilege_type),
            a.is_grantable || ' by ' || a.grantor::regrole
        FROM mine c, aclexplode(c.relacl) AS a
    UNION ALL SELECT 'column', c.relname || '.' || a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod),
            CASE WHEN a.attcollation <> t.typcollation THEN a.attcollation::regcollation::text END,
            CASE WHEN a.attnotnull THEN 'not null' END, 'identity ' || nullif(a.attidentity::text, ''),
            'generated ' || nullif(a.attgenerated::text, ''), 'default ' || pg_get_expr(d.adbin, d.adrelid),
            'storage ' || a.attstorage::text, 'compression ' || nullif(a.attcompression::text, ''), a.attoptions::text,
            a.attacl::text, 'statistics ' || nullif(a.attstattarget, -1)::text)
        FROM mine c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE c.relkind <> 'i'
    UNION ALL SELECT 'constraint', c.relname || '.' || k.conname, concat_ws(' ', pg_get_constraintdef(k.oid),
            CASE WHEN NOT k.convalidated THEN 'not valid' END)
        FROM mine c JOIN pg_constraint k ON k.conrelid = c.oid
    UNION ALL SELECT 'index', c.relname, concat_ws(' ', pg_get_indexdef(c.oid), c.relowner::regrole,
            CASE WHEN NOT i.indisvalid THEN 'invalid' END, CASE WHEN i.indisclustered THEN 'clustered' END,
            CASE WHEN i.indisreplident THEN 'replica identity' END)
        FROM mine c JOIN pg_index i ON i.indexrelid = c.oid
    UNION ALL SELECT 'policy', c.relname || '.' || p.polname, concat_ws(' ', p.polcmd, p.polpermissive,
            (SELECT array_agg(r::regrole::text ORDER BY r::regrole::text) FROM unnest(p.polroles) AS r),
            'using ' || pg_get_expr(p.polqual, p.polrelid), 'check ' || pg_get_expr(p.polwithcheck, p.polrelid))
        FROM mine c JOIN pg_policy p ON p.polrelid = c.oid
    UNION ALL SELECT 'trigger', c.relname || '.' || t.tgname, pg_get_triggerdef(t.oid) || ' ' || t.tgenabled::text
        FROM mine c JOIN pg_trigger t ON t.tgrelid = c.oid WHERE NOT t.tgisinternal
    UNION ALL SELECT 'rule', c.relname || '.' || r.rulename, pg_get_ruledef(r.oid)
        FROM mine c JOIN pg_rewrite r ON r.ev_class = c.oid
    UNION ALL SELECT 'sequence', c.relname, concat_ws(' ', format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement, s.seqmin,
            s.seqmax, s.seqcache, s.seqcycle, d.refobjid::regclass || '.' || a.attname)
        FROM mine c JOIN pg_sequence s ON s.seqrelid = c.oid
        LEFT JOIN pg_depend d ON d.objid = c.oid AND d.deptype IN ('a', 'i') AND d.classid = 'pg_class'::regclass
        LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    UNION ALL SELECT 'function', p.oid::regprocedure::text, concat_ws(' ', p.proowner::regrole,
            CASE WHEN p.proacl IS NULL THEN 'execute by default' END, pg_get_functiondef(p.oid)) FROM routines p
    UNION ALL SELECT 'grant', concat_ws(' ', p.oid::regprocedure, CASE a.grantee WHEN 0 THEN 'public'
            ELSE a.grantee::regrole::text END, a.privilege_type), a.is_grantable || ' by ' || a.grantor::regrole
        FROM routines p, aclexplode(p.proacl) AS a
    UNION ALL SELECT 'type', t.typname, concat_ws(' ', t.typtype, t.typowner::regrole, t.typacl::text,
            format_type(t.typbasetype, t.typtypmod), t.typdefault)
        FROM pg_type t WHERE t.typnamespace = 'public'::regnamespace AND t.typelem = 0 AND t.typrelid = 0
            AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = t.oid AND d.deptype = 'e')
    UNION ALL SELECT 'statistics', s.stxname, pg_get_statisticsobjdef(s.oid) FROM pg_statistic_ext s
    UNION ALL SELECT 'comment', pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description
        FROM pg_description d WHERE d.objoid IN (SELECT oid FROM mine UNION ALL SELECT oid FROM routines
            UNION ALL SELECT k.oid FROM pg_constraint k JOIN mine c ON c.oid = k.conrelid
            UNION ALL SELECT p.oid FROM pg_policy p JOIN mine c ON c.oid = p.polrelid
            UNION ALL SELECT t.oid FROM pg_trigger t JOIN mine c ON c.oid = t.tgrelid)
    UNION ALL SELECT 'event trigger', e.evtname, e.evtevent || ' ' || e.evtfoid::regprocedure FROM pg_event_trigger e)
SELECT concat_ws(E'\t', kind, name, replace(definition, E'\n', E'\\n')) FROM lines ORDER BY 1;
