"""What `inspect` predicts, beside what strace and perf count."""
from results import table


def counts(results):
    head = ['program', 'system calls, predicted', 'traced', 'page faults, predicted', 'counted by perf: mean (least to most)']
    return table(head, '---|---|---|---|---', map(line, results.json('inspect')['results']))


def line(row):
    calls, faults, at_least = row['syscalls'], row['page_faults'], '≥ ' if row['is_minimum'] else ''
    return [row['name'], f"{at_least}{calls['predicted']}", str(calls['traced']), f"{at_least or 'about '}{faults['predicted']}",
            f"{faults['mean']:.1f} ({faults['least']} to {faults['most']})"]
