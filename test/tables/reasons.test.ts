import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { gpuInstanceStoredStatus } from '../../src/api/v1alpha1/gpu-instance-form.ts';
import {
  isReason,
  type Reason,
  type ReasonEntry,
  reasonLink,
  reasons,
} from '../../src/api/v1alpha1/reasons.ts';
import { statusCodec } from '../../src/api/v1alpha1/status-codec.ts';
import { statusOf, verdict } from '../../src/controllers/gpu-instance/conditions.ts';
import { watchConditions } from '../../src/server/condition-metrics.ts';
import { createMetricRegistry } from '../../src/server/metric-registry.ts';
import { instanceReport } from '../../src/views/instance-report.ts';
import { formatReport } from '../../src/views/report.ts';
import { given, NOW } from '../builders/observed.ts';

const CATALOGUE = 'src/api/v1alpha1/reasons.ts';
const LITERALS = /'([A-Z][A-Za-z]+)'/g;

/** Sets and tables of reasons in a source text: typed by Reason, or holding nothing else. */
function privateSets(source: string): readonly string[] {
  const typed = source.match(/\b(?:Set|Map|Record)<\s*(?:Reason|string & Reason)\b[^;\n]*/g) ?? [];
  const listed = [
    ...source.matchAll(/(?:new (?:Set|Map)(?:<[^>()]*>)?\(\s*)?\[([^[\]]*)\](?=\s*(?:\)|\.includes))/g),
  ]
    .filter(([, body = '']) => {
      const names = [...body.matchAll(LITERALS)].map(([, name = '']) => name);
      const others = body.replaceAll(LITERALS, '').replaceAll(/[\s,]/g, '');
      return names.length > 1 && others === '' && names.every(isReason);
    })
    .map(([text]) => text);
  return [...typed, ...listed];
}

describe('a private set of reasons', () => {
  test('is in no file beside the catalogue: a new reason would silently be in none', () => {
    const files = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts') && file !== CATALOGUE);
    expect(files.length).toBeGreaterThan(300);
    const found = files.flatMap((file) =>
      privateSets(readFileSync(file, 'utf8')).map((text) => `${file}: ${text.replaceAll(/\s+/g, ' ')}`),
    );
    expect(found).toEqual([]);
  });

  test.each([
    ["const A: ReadonlySet<Reason> = new Set<Reason>(['Paused']);", true],
    ["const A: ReadonlySet<string> = new Set(['Paused', 'Queued']);", true],
    ["const A = new Set<string>([\n  'Paused',\n  'Queued',\n]);", true],
    ["return ['Paused', 'Queued'].includes(reason);", true],
    ['const A: Partial<Readonly<Record<Reason, string>>> = {};', true],
    ["const A = new Set(['GET', 'HEAD']);", false],
    ["const A: Readonly<Record<Kind, Reason>> = { a: 'Paused' };", false],
    ["f(['Paused', other])", false],
  ])('is found in %s: %s', (source, isOne) => {
    expect(privateSets(source).length > 0).toBe(isOne);
  });
});

/** Returns an object with that reason in its status, as stored and as read. */
function reported(reason: Reason) {
  const { object } = given();
  const finding = { phase: 'Pending', reason, machine: { type: 'none' } } as const;
  const status = statusOf(object, { fields: {}, verdict: verdict(finding) }, NOW);
  const stored = statusCodec.encode({ ...object, status });
  return { stored, read: statusCodec.decode(stored) as GpuInstance };
}

async function metricsOf(object: GpuInstance): Promise<string> {
  const registry = createMetricRegistry();
  const source = { list: () => [object], onChange: () => {} };
  const clock = { now: () => NOW } as Parameters<typeof watchConditions>[2]['clock'];
  watchConditions(registry, 'gpuinstance', { source, clock });
  return registry.expose();
}

/** Returns the section of a reason on its reference page. */
function sectionOf(reason: string): string {
  const [page = ''] = reasonLink(reason).split('#');
  const text = readFileSync(join('docs/reference', page), 'utf8');
  return text.split(/^## /m).find((section) => section.startsWith(`${reason}\n`)) ?? '';
}

describe('the catalogue', () => {
  /*
   * Runs have seven of them; budgets, leases, fuses, idle machines, contracts and low credit have one each. The nearest
   * pairs differ in what a person does: EndedItself and Vanished (check the connection to machines, or find the other
   * client), VanishedHeld and ReplacementOff (onVanish, or replacement.policy), LimitReached and DeadlineExceeded (raise
   * the limit, or create a new run), KeyRejected and KeyTooNarrow (another key, or more categories). Destroyed and
   * Replacing differ in that the first has no machine that still ends.
   */
  test('has at most 83 reasons', () => {
    expect(Object.keys(reasons).length).toBeLessThanOrEqual(83);
  });

  test('has no two reasons that ask the same of a person in the same words', () => {
    const remedies = Object.values<ReasonEntry>(reasons).flatMap(({ remedy }) => remedy ?? []);
    expect(remedies.toSorted()).toEqual([...new Set(remedies)].toSorted());
  });

  test.each(Object.entries<ReasonEntry>(reasons))(
    '%s goes from the decision to status, metrics, report and reference',
    async (reason, { kind, sentence, remedy = '' }) => {
      const { stored, read } = reported(reason as Reason);
      expect(gpuInstanceStoredStatus.safeParse(stored.status).error).toBeUndefined();
      const conditions = read.status?.conditions ?? [];
      const carrier = kind === 'terminal' ? 'Stalled' : 'Reconciling';
      const needsPage = kind === 'terminal' || kind === 'retryable';
      for (const type of ['Ready', carrier]) {
        const found = conditions.find((condition) => condition.type === type);
        expect(found).toMatchObject({ reason, message: expect.stringContaining(sentence) });
        expect(found?.message).toContain(remedy);
      }
      const ready = conditions.find(({ type }) => type === 'Ready')?.message ?? '';
      expect(ready.includes(reasonLink(reason))).toBe(needsPage);
      expect(await metricsOf(read)).toMatch(new RegExp(`type="Ready",status="False",reason="${reason}"`));
      const report = instanceReport(read, [], NOW);
      expect(formatReport(report, { now: NOW, paint: (_, text) => text })).toContain(reason);
      if (needsPage) expect(report.next.join(' ')).toContain(remedy);
      const section = sectionOf(reason);
      expect(section).toContain(sentence);
      expect(section).toContain(remedy);
    },
  );
});
