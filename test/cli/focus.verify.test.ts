import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { monthName } from '../../src/instance/cost.ts';
import { encodeMonth } from '../../src/ledger/codec.ts';
import { daySums } from '../../src/ledger/compact.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { emptyMonth } from '../../src/ledger/ledger.ts';
import { laterMonth, monthStartOf } from '../../src/ledger/months.ts';
import { ledgerName } from '../../src/ledger/names.ts';
import { costObject, entry, runningSince } from '../builders/ledger.ts';
import { type Desk, desk } from './desk.ts';

/* The export of costs, judged by the validator of the FinOps Foundation by its packaged rules of FOCUS 1.0. */

const run = promisify(execFile);
/** Newer validators have rules of FOCUS 1.2 only. Without the other pins the package does not start. */
const PACKAGES = ['focus-validator==1.0.0', 'multimethod==1.12', 'numpy==1.26.4', 'pandas==2.3.3'];
const HOUR_MS = 3_600_000;
/** Columns that rules of the validator name as FOCUS 0.5 did. */
const FORMER_NAMES: Readonly<Record<string, string>> = {
  InvoiceIssuerName: 'InvoiceIssuer',
  ProviderName: 'Provider',
  PublisherName: 'Publisher',
  ResourceId: 'ResourceID',
};

let folder = '';
let here: Desk;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'focus-'));
  await run('python3', ['-m', 'venv', join(folder, 'venv')]);
  await run(join(folder, 'venv/bin/pip'), ['install', '--quiet', '--disable-pip-version-check', ...PACKAGES]);
  here = await desk();
}, 600_000);
afterAll(async () => {
  await here?.close();
  rmSync(folder, { recursive: true, force: true });
});

const PRESENT = monthName(Date.now());
const LAST = laterMonth(PRESENT, -1);
const BEFORE = laterMonth(PRESENT, -2);

/** Returns a machine of some hours that began at that hour of a month. */
function machine(month: string, [hour, hours]: readonly [number, number], change: Partial<Entry>): Entry {
  const start = monthStartOf(month) + hour * HOUR_MS;
  return entry({ start, end: start + hours * HOUR_MS, ...change });
}

/** Stores a ledger with machines one by one, one without a billed second, sums by day, and a running machine. */
function spend(): void {
  const store = (month: string, content: object) =>
    here.put('configmaps', {
      metadata: { namespace: 'gpu-rental-system', name: ledgerName(month) },
      data: encodeMonth({ ...emptyMonth(month), ...content }),
    });
  store(LAST, {
    entries: [
      machine(LAST, [1, 50], { machine: '20000001', group: 'chat', labels: { team: 'search "a"' } }),
      machine(LAST, [7, 0], { uid: 'b', machine: '20000002', cost: 0, gpu: 'H100', gpus: 2 }),
      machine(LAST, [9, 2], { uid: 'c', machine: '20000003', namespace: 'team-b', name: '=cmd', gpu: '' }),
      machine(LAST, [20, 3], { uid: 'd', machine: '20000004', reason: undefined, isEstimated: true }),
    ],
  });
  store(BEFORE, { sums: daySums(machine(BEFORE, [3, 60], { cost: 3_333_333 })) });
  const { metadata, spec, status } = costObject(runningSince(Date.now() - HOUR_MS));
  const { uid: _given, ...named } = metadata;
  here.put('gpuinstances', { metadata: { ...named, namespace: 'team' }, spec, status });
}

/** Returns the violated rules; empty if the validator accepts the file. */
async function violations(name: string, csv: string): Promise<readonly string[]> {
  const file = join(folder, `${name}.csv`);
  writeFileSync(file, csv);
  const [python = ''] = readdirSync(join(folder, 'venv/lib'));
  // The validator reads its list of currencies relative to the current directory.
  const cwd = join(folder, 'venv/lib', python, 'site-packages');
  const program = join(folder, 'venv/bin/focus-validator');
  const { stdout } = await run(program, ['--data-file', file, '--validate-version', '1.0'], { cwd });
  const failed = [...stdout.matchAll(/^(\S+) failed:$/gm)].map(([, rule = '']) => rule);
  expect(stdout).toContain(failed.length === 0 ? 'Validation succeeded' : 'Validation failed');
  return failed;
}

/** Returns the file with the columns that the validator names otherwise, and one that a rule of it reads. */
function withFormerNames(csv: string): string {
  const [head = '', ...rows] = csv.trimEnd().split('\r\n');
  const names = head.split(',').map((name) => FORMER_NAMES[name] ?? name);
  return [`${names.join(',')},ChargeType`, ...rows.map((row) => `${row},Usage`), ''].join('\r\n');
}

const exported = async (month: string) =>
  (await here.cluster.cli.run(['cost', 'export', '-A', '--format', 'focus', '--month', month])).stdout;

test('the export of finished months, sums and running machines violates no rule of FOCUS 1.0', async () => {
  spend();
  for (const [month, lines] of [
    [LAST, 4],
    [BEFORE, 3],
    [PRESENT, 1],
  ] as const) {
    const csv = await exported(month);
    expect(csv.trimEnd().split('\r\n')).toHaveLength(lines + 1);
    expect(await violations(month, withFormerNames(csv))).toEqual([]);
  }
});

test('with its own column names it misses only those that the validator names as FOCUS 0.5 did', async () => {
  expect(await violations('own', await exported(LAST))).toEqual([
    'InvoiceIssuer_Required',
    'Provider_Required',
    'Publisher_Required',
    'ResourceID_Required',
    'SkuPriceId_Nullable',
  ]);
});

test('the validator refuses a file with a wrong currency, category or tag', async () => {
  const csv = withFormerNames(await exported(LAST));
  expect(await violations('currency', csv.replaceAll(',USD,', ',US,'))).toEqual([
    'BillingCurrency_IsCurrencyCode',
  ]);
  expect(await violations('category', csv.replaceAll(',Compute,', ',Computer,'))).toEqual([
    'ServiceCategory_Enum',
  ]);
  expect(await violations('tags', csv.replaceAll('""namespace"":', 'namespace:'))).toEqual([
    'Tags_IsJSONObject',
  ]);
});
