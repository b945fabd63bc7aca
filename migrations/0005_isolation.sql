-- How commands were walled in, the ends that go with it, what each worker can do, and what the reporter changed.

alter table execution
    drop constraint execution_outcome_check,
    add constraint execution_outcome_check check (outcome in ('exited', 'killed', 'timed_out',
        'output_limit_exceeded', 'cpu_limit_exceeded', 'out_of_memory', 'disk_limit_exceeded',
        'not_found', 'not_executable', 'not_run')),
    add column process_limit_hit boolean not null default false;

-- Beside its verdict: there where commands ran. The tier itself is also in `verdict.isolation`.
create table verdict_isolation (
    project_id bigint not null,
    run_id uuid not null,
    tier text not null check (tier in ('process', 'landlock', 'namespace', 'container')),
    kernel_uid bigint not null check (kernel_uid >= 0),
    landlock_abi int check (landlock_abi >= 0),
    loopback boolean not null,
    memory_bound text not null
        check (memory_bound in ('none', 'watched', 'cgroup_v1', 'cgroup_v2', 'engine')),
    workspace_kind text not null check (workspace_kind in ('copy', 'overlay')),
    setup text not null check (setup in ('none', 'run', 'cached')),
    command_seconds int not null,
    run_seconds int not null,
    cpu_seconds int not null,
    memory_mb int not null,
    processes int not null,
    open_files int not null,
    disk_mb int not null,
    output_bytes bigint not null,
    known_gaps text[] not null,
    primary key (project_id, run_id),
    foreign key (project_id, run_id) references verdict (project_id, run_id)
);
create trigger verdict_isolation_immutable before update or delete on verdict_isolation
    for each row execute function refuse_change();

-- What the gate saw changed against the baseline, by path. Beyond a bound, changes are counted only.
alter table verdict add column changes_total bigint not null default 0 check (changes_total >= 0);
create table tree_change (
    project_id bigint not null,
    run_id uuid not null,
    number int not null,
    path text not null,
    kind text not null check (kind in ('added', 'modified', 'deleted')),
    primary key (project_id, run_id, number),
    foreign key (project_id, run_id) references verdict (project_id, run_id)
);
create trigger tree_change_immutable before update or delete on tree_change
    for each row execute function refuse_change();

-- What the worker's self-test proved, as the API answers it; null of workers that are older than this.
alter table worker add column isolation jsonb;
