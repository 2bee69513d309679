"""What findings promised, and what removing their causes saved."""
from results import ns, paragraphs, table as markdown

KEPT = (0.75, 1.33)  # a promise over what was saved


def table(results):
    rows, ratios, without = [], [], 0
    for name, row in results.json('promises/promises').items():
        if 'error' in row:
            continue
        finding = row['finding'] or {}
        ratio = promised(row)
        if ratio is None:
            without += 1
        else:
            ratios.append(ratio)
        rows.append([name, ns(row['with_ns']), ns(row['without_ns']), ns(row['saved_ns']),
                     f'`{finding["rule"]}`' if finding else 'none', ns(finding.get('costs_ns')), ns(finding.get('saves_ns')),
                     '-' if ratio is None else f'{ratio:.2f}' if is_kept(ratio) else f'**{ratio:.2f}**'])
    kept = sum(map(is_kept, ratios))
    if kept * 10 < len(ratios) * 9:
        results.missed.append(f'{kept} of {len(ratios)} promises are kept')
    said = f'{kept} of {len(ratios)} promises are kept. {without} of {len(rows)} cases have no promise.'
    head = ['case', 'with the cause', 'without', 'saved', 'finding', 'costs', 'promise', 'promise / saved']
    return paragraphs([said, markdown(head, ':---|---:|---:|---:|:---|---:|---:|---:', rows)])


def promised(row):
    promise = (row['finding'] or {}).get('saves_ns')
    return promise / row['saved_ns'] if promise and row['saved_ns'] > 0 else None


def is_kept(ratio):
    return KEPT[0] <= ratio <= KEPT[1]
