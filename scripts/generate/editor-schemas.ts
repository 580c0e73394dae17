import { definitions, type KindDefinition } from '../../src/api/v1alpha1/definitions.ts';
import { API_VERSION, VERSION } from '../../src/api/v1alpha1/names.ts';
import type { Artifact } from './artifact.ts';
import { type JsonSchema, structuralSchema } from './json-schema.ts';

const FOLDER = 'deploy/schemas';

/** The line by which editors find the schema of a manifest: every sample begins with it. */
export const SCHEMA_LINE = /^# yaml-language-server: \$schema=(\S+)\n/;

/** Names of files as catalogues of CRD schemas use them. */
const pathOf = ({ names }: KindDefinition): string => `${FOLDER}/${names.kind.toLowerCase()}_${VERSION}.json`;

/** Returns a JSON schema for editors of each kind: fields with their descriptions, and no other field. */
export function editorSchemas(): readonly Artifact[] {
  return definitions.map((kind) => ({
    path: pathOf(kind),
    content: `${JSON.stringify(schemaOf(kind), undefined, 2)}\n`,
  }));
}

function schemaOf(kind: KindDefinition): object {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: kind.names.kind,
    description: kind.description,
    type: 'object',
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
    properties: {
      apiVersion: { const: API_VERSION },
      kind: { const: kind.names.kind },
      metadata: METADATA,
      spec: forEditors(structuralSchema(kind.spec)),
      status: { description: 'Written by the operator.', type: 'object' },
    },
    additionalProperties: false,
  };
}

const TEXTS = { type: 'object', additionalProperties: { type: 'string' } };

const METADATA = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 253 },
    generateName: { type: 'string' },
    namespace: { type: 'string', maxLength: 63 },
    labels: TEXTS,
    annotations: TEXTS,
  },
};

/** Returns the schema without Kubernetes' own words, which refuses every field that it does not name. */
function forEditors(schema: JsonSchema): object {
  const { items, properties, additionalProperties, ...rest } = schema;
  const plain = Object.entries(rest).filter(([key]) => !key.startsWith('x-'));
  return {
    ...Object.fromEntries(plain),
    ...(schema['x-kubernetes-int-or-string'] && { type: ['integer', 'string'] }),
    ...(items && { items: forEditors(items) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, each]) => [name, forEditors(each)]),
      ),
    }),
    ...(additionalProperties
      ? { additionalProperties: forEditors(additionalProperties) }
      : properties && { additionalProperties: false }),
  };
}
