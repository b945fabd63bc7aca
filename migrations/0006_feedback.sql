-- What feedback and exports tell of a failing test, and the second text for the next prompt.

alter table finding
    add column test_name text,
    add column test_phase text
        check (test_phase in ('collection', 'setup', 'call', 'teardown')),
    add column expected text,
    add column actual text,
    add constraint finding_test_check check (
        (test_name is null) = (test_phase is null)
        and (test_name is not null or (expected is null and actual is null))
    );

-- Verdicts that are older than this column have none.
alter table verdict add column execution_report text not null default '';
