-- A contract is proven on its baseline before anybody works on it: by a run without a report.

alter table task
    drop constraint task_state_check,
    add constraint task_state_check check (state in (
        'preflight', 'pending', 'gating', 'done', 'rework', 'needs_human', 'contract_rejected',
        'needs_input', 'paused', 'failed', 'aborted')),
    drop constraint task_check,
    add constraint task_current_run_check check (
        (state in ('gating', 'preflight')) = (current_run_id is not null)),
    -- The run that proved the newest contract version which has a baseline, or rejected it.
    add column preflight_run_id uuid;

alter table gate_run
    alter column report_id drop not null,
    -- Of a preflight: where the task goes when the contract is proven, and the request that published it.
    add column opens text check (opens in (
        'pending', 'rework', 'needs_human', 'needs_input', 'paused', 'failed')),
    add column request_id text,
    add column traceparent text,
    add constraint gate_run_subject_check check ((report_id is null) = (opens is not null));

-- What the tests of a check did on the untouched baseline of a contract version.
create table baseline_test (
    project_id bigint not null,
    task_id uuid not null,
    contract_version int not null,
    check_id text not null,
    passed bigint not null check (passed >= 0),
    failed bigint not null check (failed >= 0),
    skipped bigint not null check (skipped >= 0),
    -- Their names, the first 1000.
    failing text[] not null,
    primary key (project_id, task_id, contract_version, check_id),
    foreign key (project_id, task_id, contract_version)
        references contract (project_id, task_id, version)
);
create trigger baseline_test_immutable before update or delete on baseline_test
    for each row execute function refuse_change();
