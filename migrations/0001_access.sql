-- Who may touch what: projects, their API keys, and what the gate knows of itself.

create table project (
    id bigint generated always as identity primary key,
    slug text not null unique check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    -- Its share of the workers while several projects wait.
    weight int not null default 1 check (weight between 1 and 1000),
    -- The last fairness tag that was handed out, in microseconds.
    virtual_time bigint not null default 0,
    -- The last event's; appending one locks this row, which makes the numbers gapless and in commit order.
    event_sequence bigint not null default 0,
    -- Callback secrets are derived from the gate's key and this number; none is stored.
    secret_generation int not null default 1,
    secret_rotated_at timestamptz,
    created_at timestamptz not null default now()
) with (fillfactor = 50);

create table api_key (
    id uuid primary key,
    -- None for an admin key of the whole gate.
    project_id bigint references project (id),
    name text not null check (length(name) between 1 and 100),
    prefix text not null,
    sha256 bytea not null unique check (length(sha256) = 32),
    roles text[] not null
        check (cardinality(roles) > 0
           and roles <@ array['planner', 'reporter', 'reviewer', 'orchestrator', 'admin']),
    created_by text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    revoked_at timestamptz
);
create index api_key_project on api_key (project_id, id);

-- One row for each fact about this gate, such as the fingerprint of its secret key.
create table gate_setting (
    name text primary key,
    value text not null
);
