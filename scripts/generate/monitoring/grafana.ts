import type { Dashboard, Panel } from './dashboard-panels.ts';

const COLUMNS = 24;
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

const SIZE: Readonly<Record<Panel['kind'], { readonly w: number; readonly h: number }>> = {
  stat: { w: 6, h: 4 },
  timeseries: { w: 12, h: 8 },
  table: { w: 12, h: 8 },
};

interface Place {
  readonly x: number;
  readonly y: number;
  /** Height of the line that is being filled. */
  readonly line: number;
}

function placed(panel: Panel, from: Place): { readonly gridPos: object; readonly next: Place } {
  const { w, h } = SIZE[panel.kind];
  const wraps = from.x + w > COLUMNS;
  const at = wraps ? { x: 0, y: from.y + from.line, line: 0 } : from;
  return {
    gridPos: { x: at.x, y: at.y, w, h },
    next: { x: at.x + w, y: at.y, line: Math.max(at.line, h) },
  };
}

function panelModel(panel: Panel, id: number, gridPos: object) {
  return {
    id,
    type: panel.kind,
    title: panel.title,
    ...(panel.description && { description: panel.description }),
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: {
      defaults: { unit: panel.unit, ...(panel.kind === 'stat' && { noValue: '0' }) },
      overrides: [],
    },
    targets: panel.queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      ...(panel.kind === 'table' && { format: 'table', instant: true }),
    })),
  };
}

function panelModels(dashboard: Dashboard): readonly object[] {
  const models: object[] = [];
  let place: Place = { x: 0, y: 0, line: 0 };
  for (const row of dashboard.rows) {
    const y = place.y + place.line;
    models.push({
      id: models.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
    });
    place = { x: 0, y: y + 1, line: 0 };
    for (const panel of row.panels) {
      const { gridPos, next } = placed(panel, place);
      models.push(panelModel(panel, models.length + 1, gridPos));
      place = next;
    }
  }
  return models;
}

const datasourceVariable = {
  name: 'datasource',
  label: 'Data source',
  type: 'datasource',
  query: 'prometheus',
};

function queryVariable({ name, query }: Dashboard['variables'][number]) {
  return {
    name,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    includeAll: true,
    allValue: '.*',
    multi: true,
    refresh: 2,
    sort: 1,
    current: { text: 'All', value: '$__all' },
  };
}

/** Returns the dashboard in Grafana's import form. It has no uid, so two copies of it can exist in one Grafana. */
export function grafanaDashboard(dashboard: Dashboard): string {
  const model = {
    title: dashboard.title,
    description: dashboard.description,
    tags: ['gpu-rental'],
    editable: true,
    graphTooltip: 1,
    schemaVersion: 39,
    time: { from: 'now-24h', to: 'now' },
    refresh: '1m',
    templating: { list: [datasourceVariable, ...dashboard.variables.map(queryVariable)] },
    panels: panelModels(dashboard),
  };
  return `${JSON.stringify(model, undefined, 2)}\n`;
}
