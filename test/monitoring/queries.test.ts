import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { alerts, runbookName } from '../../scripts/generate/monitoring/alerts.ts';
import {
  gatewayFamilies,
  metricFamilies,
  seriesOf,
} from '../../scripts/generate/monitoring/metric-families.ts';
import { OWN_CONTROLLERS } from '../../scripts/generate/monitoring/own-series.ts';
import { recordingRules } from '../../scripts/generate/monitoring/recording-rules.ts';
import { labelsIn, placedQueries, seriesIn } from './queries.ts';

const families = [...metricFamilies(), ...gatewayFamilies()];
const labelsBySeries = new Map(
  families.flatMap((family) => seriesOf(family).map((series) => [series, family.labelNames] as const)),
);
const records = new Set(recordingRules.map(({ record }) => record));
/** Added by Prometheus or by its functions. */
const ADDED = ['pod', 'instance', 'job', 'le'];

/** Families that every operator of a cluster exports: built on controller-runtime, client-go or a Prometheus client. */
const SHARED = /^(controller_runtime|workqueue|rest_client|leader_election|process|nodejs)_/;

/** Matchers that exclude series of other programs; each has cases for promtool with such series. */
const SCOPES = [
  `controller=~${OWN_CONTROLLERS}`,
  `name=~${OWN_CONTROLLERS}`,
  'name="gpu-rental-operator"',
  'and on (job, instance) gpu_rental_build_info{component="operator"}',
];

test('F4: the controllers that queries match are those of the operator', () => {
  const folder = join(REPOSITORY, 'src/controllers');
  const names = readdirSync(folder).map(
    (name) => /\bname: '(\w+)'/.exec(readFileSync(join(folder, name, 'controller.ts'), 'utf8'))?.[1],
  );
  expect(OWN_CONTROLLERS).toBe(`"${names.toSorted().join('|')}"`);
});

const sharedQueries = placedQueries.filter(({ expr }) => seriesIn(expr).some((name) => SHARED.test(name)));
test.each(sharedQueries)('F4: the query of $place leaves out series of other operators', ({ expr }) => {
  const reads = seriesIn(expr).filter((name) => SHARED.test(name)).length;
  const scopes = SCOPES.reduce((sum, scope) => sum + expr.split(scope).length - 1, 0);
  expect(scopes).toBe(reads);
});

describe.each(placedQueries)('the query of $place', ({ expr }) => {
  const series = seriesIn(expr);

  test('reads series that the operator or a picker exposes', () => {
    expect(series).not.toEqual([]);
    expect(series.filter((name) => !labelsBySeries.has(name) && !records.has(name))).toEqual([]);
  });

  test('matches and groups by labels that these series have', () => {
    if (series.every((name) => records.has(name))) return;
    const known = new Set([...ADDED, ...series.flatMap((name) => labelsBySeries.get(name) ?? [])]);
    expect(labelsIn(expr).filter((label) => !known.has(label))).toEqual([]);
  });
});

test('a query of a family that does not exist is found', () => {
  expect(seriesIn('sum(rate(gpu_rental_nonsense_total{a="gpu_rental_x"}[5m]))')).toEqual([
    'gpu_rental_nonsense_total',
  ]);
  expect(labelsIn('sum by (a, b) (x{c=~"d", e!="f"})')).toEqual(['c', 'e', 'a', 'b']);
});

test.each(alerts)('the alert $alert has a page with what to look at and what to do', (alert) => {
  const page = join(REPOSITORY, 'docs/runbooks', runbookName(alert));
  expect(existsSync(page), page).toBe(true);
});

test('every alert and every record has a case for promtool', () => {
  const cases = readFileSync(join(import.meta.dirname, 'rules.promtool.yaml'), 'utf8');
  const names = [...alerts.map(({ alert }) => `alertname: ${alert}\n`), ...records];
  expect(names.filter((name) => !cases.includes(name))).toEqual([]);
});

test('every family says what it means, and names no label twice', () => {
  for (const { name, help, labelNames } of families) {
    expect(help.length, name).toBeGreaterThan(10);
    expect(new Set(labelNames).size, name).toBe(labelNames.length);
  }
});
