import type { KindDefinition } from '../../src/api/v1alpha1/definitions.ts';
import { CATEGORY, VERSION } from '../../src/api/v1alpha1/names.ts';
import { structuralSchema } from './json-schema.ts';

/** Returns the whole object's schema: it declares metadata's name, so that rules may use it. */
function objectSchema(kind: KindDefinition) {
  const status = structuralSchema(kind.status);
  return {
    description: kind.description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { description: 'The version of this schema.', type: 'string' },
      kind: { description: 'The kind of this object.', type: 'string' },
      metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 253 } } },
      spec: structuralSchema(kind.spec),
      status: { ...status, default: { observedGeneration: -1 } },
    },
    // The API server drops an empty list, and a second owner of the field would then always conflict with the first.
    ...(kind.rules.length > 0 && { 'x-kubernetes-validations': kind.rules }),
  };
}

/** Returns the CustomResourceDefinition of a kind, in the form for YAML. */
export function customResourceDefinition(kind: KindDefinition) {
  const { group, plural, singular, shortNames } = kind.names;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, ...(kind.labels && { labels: kind.labels }) },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind: kind.names.kind,
        listKind: `${kind.names.kind}List`,
        plural,
        singular,
        shortNames,
        categories: [CATEGORY],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: objectSchema(kind) },
          subresources: { status: {}, ...(kind.scale && { scale: kind.scale }) },
          additionalPrinterColumns: kind.columns,
          ...(kind.selectableFields.length > 0 && {
            selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })),
          }),
        },
      ],
    },
  };
}
