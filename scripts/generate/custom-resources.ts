import { definitions, type KindDefinition } from '../../src/api/v1alpha1/definitions.ts';
import type { Artifact } from './artifact.ts';
import { customResourceDefinition } from './custom-resource-definition.ts';
import { GENERATED, yaml } from './yaml.ts';

const fileName = ({ names }: KindDefinition): string => `${names.group}_${names.plural}.yaml`;

/** Folders in which users and tools expect plain CRDs. */
const PLAIN_FOLDERS = ['crds', 'deploy/base/crds'] as const;

/** The operator's chart, and the one for definitions that live apart from it. */
const CHART_FOLDERS = [
  'charts/gpu-rental-operator/templates/crds',
  'charts/gpu-rental-operator-crds/templates/crds',
] as const;

/** Folders in which nothing is written by hand. */
export const GENERATED_FOLDERS: readonly string[] = [...PLAIN_FOLDERS, ...CHART_FOLDERS];

function inChart(kind: KindDefinition): string {
  const definition = yaml(customResourceDefinition(kind));
  if (definition.includes('{{')) throw new Error(`${kind.names.kind}: "{{" would be read by Helm`);
  const metadata = `metadata:\n  name: ${kind.names.plural}.${kind.names.group}\n`;
  const withValues = `${metadata}  {{- include "gpu-rental-operator.crdMetadata" (dict "context" . "labels" (dict ${labelPairs(kind)})) | nindent 2 }}\n`;
  const body = definition.replace(/^metadata:\n(?: {2}.*\n)+/m, withValues);
  return `${GENERATED}{{- if .Values.crds.enabled }}\n${body}{{- end }}\n`;
}

function labelPairs(kind: KindDefinition): string {
  return Object.entries(kind.labels ?? {})
    .map(([name, value]) => `"${name}" "${value}"`)
    .join(' ');
}

/** Returns the CRDs: plain, in the kustomize base, and in the chart. */
export function customResourceArtifacts(): readonly Artifact[] {
  return definitions.flatMap((kind) => {
    const content = GENERATED + yaml(customResourceDefinition(kind));
    const plain = PLAIN_FOLDERS.map((folder) => ({ path: `${folder}/${fileName(kind)}`, content }));
    const charts = CHART_FOLDERS.map((folder) => ({
      path: `${folder}/${fileName(kind)}`,
      content: inChart(kind),
    }));
    return [...plain, ...charts];
  });
}
