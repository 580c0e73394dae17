import { describe, expect, test } from 'vitest';
import type * as z from 'zod';
import type { Refused } from '../../../test/crds/refused.ts';
import { refusedAccounts } from '../../../test/crds/refused-accounts.ts';
import { refusedBudgets } from '../../../test/crds/refused-budgets.ts';
import { refusedGroups } from '../../../test/crds/refused-groups.ts';
import { refusedInstances } from '../../../test/crds/refused-instances.ts';
import {
  endpointGroupDefinition,
  gpuInstanceDefinition,
  type KindDefinition,
  marketplaceAccountDefinition,
  spendBudgetDefinition,
} from '../../api/v1alpha1/definitions.ts';
import { brokenRules } from './admission-rules.ts';

const kinds: readonly { readonly kind: KindDefinition; readonly rows: readonly Refused[] }[] = [
  { kind: marketplaceAccountDefinition, rows: refusedAccounts },
  { kind: spendBudgetDefinition, rows: refusedBudgets },
  { kind: gpuInstanceDefinition, rows: refusedInstances },
  { kind: endpointGroupDefinition, rows: refusedGroups },
];

interface Said {
  readonly field: string;
  readonly message: string;
}

/** Returns the refusals of a spec without an API server: by its schema, else by its rules. */
function refusalsOf(kind: KindDefinition, { name, spec }: Refused): readonly Said[] {
  const parsed = kind.spec.safeParse(spec);
  const found = parsed.success
    ? brokenRules(kind, { metadata: { name: name ?? 'row' }, spec: parsed.data })
    : parsed.error.issues.map(({ path, message }: z.core.$ZodIssue) => ({
        path: ['spec', ...path],
        message,
      }));
  return found.map(({ path, message }) => ({ field: path.map(step).join('').slice(1), message }));
}

const step = (key: PropertyKey): string => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`);

/**
 * Returns true if the line matches: the API server adds the kind of refusal and the value between field and message.
 */
const isSame = (line: string, { field, message }: Said): boolean =>
  line.startsWith(`${field}: `) && line.slice(field.length).endsWith(`: ${message}`);

describe.each(kinds)('$kind.names.kind', ({ kind, rows }) => {
  const created = rows.filter((row) => row.was === undefined && row.strict === undefined);
  const [byRules, bySchema] = [true, false].map((fits) =>
    created.filter(({ spec }) => kind.spec.safeParse(spec).success === fits),
  );

  test.each(byRules ?? [])('B08: an offline check says of $given what the API server says', (row) => {
    const said = refusalsOf(kind, row);
    expect(said.filter((one) => !row.refusals.some((line) => isSame(line, one)))).toEqual([]);
    expect(said).toHaveLength(row.refusals.length);
  });

  test.each(bySchema ?? [])('B08: an offline check refuses $given', (row) => {
    expect(row.refusals).not.toEqual([]);
    expect(refusalsOf(kind, row)).not.toEqual([]);
  });
});
