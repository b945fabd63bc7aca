-- What happened, for good, and who is told.

create table event (
    project_id bigint not null references project (id),
    sequence bigint not null,
    task_id uuid,
    run_id uuid,
    kind text not null,
    actor text not null,
    data jsonb not null default '{}',
    request_id text,
    traceparent text,
    at timestamptz not null default now(),
    primary key (project_id, sequence)
);
create index event_task on event (project_id, task_id, sequence);
create trigger event_append_only before update or delete on event
    for each row execute function refuse_change();
create trigger event_no_truncate before truncate on event
    for each statement execute function refuse_change();

-- The outbox. The body is written with the event, so every attempt sends the same bytes.
create table callback (
    project_id bigint not null,
    -- The `webhook-id`.
    id uuid not null unique,
    task_id uuid not null,
    sequence bigint not null,
    kind text not null,
    url text not null,
    body text not null,
    state text not null default 'due' check (state in ('due', 'delivered', 'dead')),
    next_at timestamptz not null default now(),
    attempts int not null default 0,
    -- The place in the schedule; a redelivery starts it anew, the attempts go on counting.
    step int not null default 0,
    lease_token uuid,
    locked_until timestamptz,
    created_at timestamptz not null default now(),
    primary key (project_id, id),
    unique (project_id, task_id, sequence),
    foreign key (project_id, task_id) references task (project_id, id),
    foreign key (project_id, sequence) references event (project_id, sequence),
    check ((lease_token is null) = (locked_until is null))
) with (fillfactor = 70);
create index callback_due on callback (next_at, id) where state = 'due';
create index callback_order on callback (project_id, task_id, sequence) where state = 'due';
create index callback_in_flight on callback (url) where lease_token is not null;

create table callback_attempt (
    project_id bigint not null,
    callback_id uuid not null,
    number int not null check (number >= 1),
    at timestamptz not null,
    duration_ms bigint not null,
    status int,
    error text,
    primary key (project_id, callback_id, number),
    foreign key (project_id, callback_id) references callback (project_id, id),
    check (status is not null or error is not null)
);

-- The client's own names for its requests. `resource_id` is what the first of them made.
create table idempotency_key (
    -- The API key that sent it.
    principal uuid not null,
    route text not null,
    key text not null check (length(key) between 1 and 255),
    body_sha256 bytea not null check (length(body_sha256) = 32),
    resource_id uuid not null,
    created_at timestamptz not null default now(),
    primary key (principal, route, key)
);
create index idempotency_key_age on idempotency_key (created_at);
