import { alerts } from '../../scripts/generate/monitoring/alerts.ts';
import { dashboards } from '../../scripts/generate/monitoring/dashboards.ts';
import { recordingRules } from '../../scripts/generate/monitoring/recording-rules.ts';

/** A PromQL expression that people or Prometheus will run, and where it stands. */
export interface PlacedQuery {
  readonly place: string;
  readonly expr: string;
}

const panelQueries = dashboards.flatMap(({ file, rows }) =>
  rows.flatMap(({ panels }) =>
    panels.flatMap(({ title, queries }) => queries.map(({ expr }) => ({ place: `${file}: ${title}`, expr }))),
  ),
);
const variableQueries = dashboards.flatMap(({ file, variables }) =>
  variables.map(({ name, query }) => ({ place: `${file}: $${name}`, expr: query })),
);

export const placedQueries: readonly PlacedQuery[] = [
  ...panelQueries,
  ...variableQueries,
  ...alerts.map(({ alert, expr }) => ({ place: alert, expr })),
  ...recordingRules.map(({ record, expr }) => ({ place: record, expr })),
];

const STRINGS = /"(?:[^"\\]|\\.)*"/g;

/** Returns the names of series in an expression that have the operator's prefixes, outside strings. */
export function seriesIn(expr: string): readonly string[] {
  const bare = expr.replaceAll(STRINGS, '""');
  return [
    ...bare.matchAll(
      /\b(?:[a-z]+:)?(?:gpu_rental|controller_runtime|workqueue|rest_client|leader_election|process|nodejs)_[a-z0-9_:]+/g,
    ),
  ].map(([name]) => name);
}

/** Returns labels that an expression matches on or groups by, with their series if they are known. */
export function labelsIn(expr: string): readonly string[] {
  const bare = expr.replaceAll(STRINGS, '""');
  const matchers = [...bare.matchAll(/\{([^}]*)\}/g)].flatMap(([, inside = '']) =>
    [...inside.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)].map(([, name = '']) => name),
  );
  const groupings = [...bare.matchAll(/\b(?:by|on|without)\s*\(([^)]*)\)/g)].flatMap(([, inside = '']) =>
    inside.split(',').map((name) => name.trim()),
  );
  return [...new Set([...matchers, ...groupings])].filter((name) => name !== '');
}
