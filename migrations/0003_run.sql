-- Reports, the runs that judge them, and the queue between.

-- Uploaded workspace archives; their bytes are in the object store.
create table archive (
    project_id bigint not null references project (id),
    sha256 bytea not null check (length(sha256) = 32),
    size_bytes bigint not null check (size_bytes >= 0),
    created_by text not null,
    created_at timestamptz not null default now(),
    primary key (project_id, sha256)
);

create table completion_report (
    project_id bigint not null,
    id uuid not null unique,
    task_id uuid not null,
    number int not null check (number >= 1),
    status text not null check (status in ('success', 'partial', 'failed', 'needs_input', 'aborted')),
    reason_code text,
    contract_version int not null,
    -- Exactly as it was posted.
    body text not null,
    sha256 bytea not null check (length(sha256) = 32),
    -- What followed at once from a report that is not a success.
    next_step text,
    run_id uuid,
    created_by text not null,
    request_id text,
    traceparent text,
    created_at timestamptz not null default now(),
    primary key (project_id, id),
    unique (project_id, task_id, number),
    foreign key (project_id, task_id) references task (project_id, id),
    foreign key (project_id, task_id, contract_version)
        references contract (project_id, task_id, version),
    check ((status = 'success') = (run_id is not null)),
    check ((status = 'success') = (next_step is null)),
    check ((status = 'success') = (reason_code is null))
);

-- The durable record of a run: written when it is accepted, and again when it ends.
create table gate_run (
    project_id bigint not null,
    id uuid not null unique,
    task_id uuid not null,
    report_id uuid not null,
    contract_version int not null,
    -- Whether a worker has it now is the queue's to say.
    state text not null default 'queued' check (state in ('queued', 'judged', 'cancelled')),
    attempts int not null default 0 check (attempts >= 0),
    created_at timestamptz not null default now(),
    finished_at timestamptz,
    primary key (project_id, id),
    unique (project_id, report_id),
    foreign key (project_id, task_id) references task (project_id, id),
    foreign key (project_id, report_id) references completion_report (project_id, id)
        deferrable initially deferred,
    check ((state = 'queued') = (finished_at is null))
) with (fillfactor = 85);
create index gate_run_task on gate_run (project_id, task_id, id);

create table worker (
    -- An int, because it is half of an advisory lock that its session holds.
    id int generated always as identity primary key,
    node text not null,
    slots int not null check (slots >= 1),
    started_at timestamptz not null default now(),
    last_seen_at timestamptz not null default now()
) with (fillfactor = 30);

-- Hot and small: a row is inserted, updated once or twice, and deleted.
create table gate_queue (
    run_id uuid primary key,
    project_id bigint not null,
    task_id uuid not null,
    -- Start-time fair queueing: the smallest tag is next, whatever its project has queued behind it.
    virtual_time bigint not null,
    -- `waiting` is due later and outside of the index that leases read.
    state text not null default 'ready' check (state in ('waiting', 'ready', 'running')),
    run_at timestamptz not null default now(),
    lease_token uuid,
    worker_id int,
    leased_at timestamptz,
    attempt int not null default 0 check (attempt >= 0),
    -- Workers that died while they had it. From two on it is a suspect, and runs alone.
    crashes int not null default 0 check (crashes >= 0),
    check ((state = 'running') = (lease_token is not null)),
    check ((lease_token is null) = (leased_at is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0,
        autovacuum_analyze_threshold = 20000);
create index gate_queue_ready on gate_queue (virtual_time, run_id) where state = 'ready';
create index gate_queue_suspect on gate_queue (virtual_time, run_id) where state = 'ready' and crashes >= 2;
create index gate_queue_due on gate_queue (run_at) where state = 'waiting';
create index gate_queue_running on gate_queue (worker_id) where state = 'running';

create table verdict (
    project_id bigint not null,
    run_id uuid not null,
    task_id uuid not null,
    decision text not null check (decision in ('PASS', 'FAIL', 'INCONCLUSIVE')),
    next_step text not null,
    round int not null check (round >= 1),
    rounds_max int not null,
    contract_version int not null,
    tree_sha256 bytea check (length(tree_sha256) = 32),
    isolation text,
    findings_left_out int not null default 0,
    feedback text not null,
    -- Which worker concluded it, at which attempt.
    worker_id int,
    attempt int not null,
    leased_at timestamptz,
    decided_at timestamptz not null default now(),
    -- A run is judged at most once.
    primary key (project_id, run_id),
    foreign key (project_id, run_id) references gate_run (project_id, id),
    foreign key (project_id, task_id, contract_version)
        references contract (project_id, task_id, version)
);
create trigger verdict_immutable before update or delete on verdict
    for each row execute function refuse_change();
create trigger verdict_no_truncate before truncate on verdict
    for each statement execute function refuse_change();

create table finding (
    project_id bigint not null,
    run_id uuid not null,
    number int not null check (number >= 0),
    check_id text,
    criteria text[] not null,
    kind text not null,
    blocking boolean not null,
    blame text not null check (blame in ('reporter', 'contract', 'gate')),
    title text not null,
    file text,
    line int,
    col int,
    excerpt_stream text,
    excerpt_offset bigint,
    excerpt text,
    primary key (project_id, run_id, number),
    foreign key (project_id, run_id) references verdict (project_id, run_id),
    check ((excerpt is null) = (excerpt_stream is null) and (excerpt is null) = (excerpt_offset is null))
);
create trigger finding_immutable before update or delete on finding
    for each row execute function refuse_change();

create table execution (
    project_id bigint not null,
    run_id uuid not null,
    number int not null check (number >= 0),
    check_id text not null,
    command text[] not null,
    outcome text not null check (outcome in ('exited', 'killed', 'timed_out',
        'output_limit_exceeded', 'not_found', 'not_executable', 'not_run')),
    -- The exit status, the signal, the limit, or the error number; none where there is none.
    outcome_value bigint,
    duration_ms bigint not null,
    cpu_ms bigint not null,
    memory_peak_bytes bigint not null,
    stragglers_killed int not null,
    tool text,
    tests_passed bigint,
    tests_failed bigint,
    tests_skipped bigint,
    stdout_sha256 bytea not null,
    stdout_bytes bigint not null,
    stderr_sha256 bytea not null,
    stderr_bytes bigint not null,
    merged_sha256 bytea not null,
    merged_bytes bigint not null,
    primary key (project_id, run_id, number),
    foreign key (project_id, run_id) references verdict (project_id, run_id)
);
create trigger execution_immutable before update or delete on execution
    for each row execute function refuse_change();
