-- Tasks and the contracts that they are judged by.

create table task (
    project_id bigint not null references project (id),
    id uuid not null unique,
    title text not null,
    state text not null default 'pending' check (state in (
        'pending', 'gating', 'done', 'rework', 'needs_human', 'contract_rejected',
        'needs_input', 'paused', 'failed', 'aborted')),
    contract_version int not null default 1,
    rounds int not null default 0 check (rounds >= 0),
    rounds_max int not null check (rounds_max >= 1),
    reports int not null default 0 check (reports >= 0),
    reports_max int not null check (reports_max >= 1),
    callback_url text,
    current_run_id uuid,
    last_run_id uuid,
    -- Counts the changes; the ETag.
    version bigint not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (project_id, id),
    check ((state = 'gating') = (current_run_id is not null)),
    check (reports <= reports_max)
) with (fillfactor = 80);
create index task_state on task (project_id, state, id);

-- The exact text that was published. A version never changes.
create table contract (
    project_id bigint not null,
    task_id uuid not null,
    version int not null check (version >= 1),
    media_type text not null check (media_type in ('application/json', 'application/yaml')),
    body text not null,
    sha256 bytea not null check (length(sha256) = 32),
    reason text,
    created_by text not null,
    created_at timestamptz not null default now(),
    primary key (project_id, task_id, version),
    foreign key (project_id, task_id) references task (project_id, id),
    check (version = 1 or reason is not null)
);

create function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;

create trigger contract_immutable before update or delete on contract
    for each row execute function refuse_change();
create trigger contract_no_truncate before truncate on contract
    for each statement execute function refuse_change();
