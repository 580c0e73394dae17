import type { Artifact } from '../artifact.ts';
import { CRD_CHART, crdChartFile, OPERATOR_CHART, operatorChartFile } from './chart-metadata.ts';
import { crdReadme, operatorReadme } from './chart-readme.ts';
import { chartValues, crdChartValues } from './chart-values.ts';
import { valuesSchema, valuesYaml } from './values-files.ts';

/**
 * Returns the descriptions of both charts: Chart.yaml, values, their schema and README. Templates are written by hand.
 */
export function chartArtifacts(): readonly Artifact[] {
  const inChart = (chart: string, name: string, content: string) => ({
    path: `charts/${chart}/${name}`,
    content,
  });
  return [
    inChart(OPERATOR_CHART, 'Chart.yaml', operatorChartFile()),
    inChart(OPERATOR_CHART, 'values.yaml', valuesYaml(chartValues)),
    inChart(OPERATOR_CHART, 'values.schema.json', valuesSchema(`Values of ${OPERATOR_CHART}`, chartValues)),
    inChart(OPERATOR_CHART, 'README.md', operatorReadme),
    inChart(CRD_CHART, 'Chart.yaml', crdChartFile()),
    inChart(CRD_CHART, 'values.yaml', valuesYaml(crdChartValues)),
    inChart(CRD_CHART, 'values.schema.json', valuesSchema(`Values of ${CRD_CHART}`, crdChartValues)),
    inChart(CRD_CHART, 'README.md', crdReadme),
  ];
}
