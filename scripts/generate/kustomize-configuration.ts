import { definitions, type KindDefinition } from '../../src/api/v1alpha1/definitions.ts';
import {
  endpointGroupResource,
  GROUP,
  marketplaceAccountResource,
  VERSION,
} from '../../src/api/v1alpha1/names.ts';
import type { Artifact } from './artifact.ts';
import { type JsonSchema, structuralSchema } from './json-schema.ts';
import { GENERATED, yaml } from './yaml.ts';

const PATH = 'deploy/kustomize/gpu-rental.yaml';
const HEAD = `${GENERATED}#
# Fields of our kinds for kustomize: names that secretGenerator, namePrefix and nameSuffix change, and images.
# In a kustomization.yaml: configurations: [gpu-rental.yaml]
`;

interface FieldSpec {
  readonly path: string;
  readonly group?: string;
  readonly kind: string;
}

const SECRET_FIELD = /(?:SecretRef|secretKeyRef)\/name$|\/secretName$/;
const ACCOUNT_FIELD = /\/accountRef\/name$/;
const IMAGE_FIELD = /\/image$/;
/** Every field that names another object by the conventions of the Kubernetes API. */
const REFERENCE = /(?:Ref\/name|[a-z]Name)$/;
/** Names that an object of the operator gives to something, or that are no names of objects in the cluster. */
const OWN_NAMES: ReadonlySet<string> = new Set(['spec/endpointName']);

/** Paths of text fields as kustomize writes them; it steps into lists by itself. */
function textFields(schema: JsonSchema, path: string): readonly string[] {
  if (schema.items) return textFields(schema.items, path);
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length > 0) return properties.flatMap(([name, of]) => textFields(of, `${path}/${name}`));
  return schema.type === 'string' ? [path] : [];
}

function fieldsOf({ names: { kind }, spec }: KindDefinition): readonly FieldSpec[] {
  return textFields(structuralSchema(spec), 'spec').map((path) => ({ path, group: GROUP, kind }));
}

const fields = definitions.flatMap(fieldsOf);
const matching = (pattern: RegExp): readonly FieldSpec[] => fields.filter(({ path }) => pattern.test(path));

/** Throws if a field names an object of a kind that this file does not know. */
function refuseUnknown(): void {
  const unknown = matching(REFERENCE).filter(
    ({ path }) => !SECRET_FIELD.test(path) && !ACCOUNT_FIELD.test(path) && !OWN_NAMES.has(path),
  );
  for (const { kind, path } of unknown)
    throw new Error(
      `${kind} ${path}: say in scripts/generate/kustomize-configuration.ts which kind it names`,
    );
}

/** Autoscalers name a group by `scaleTargetRef`. */
const SCALERS: readonly FieldSpec[] = [
  { path: 'spec/scaleTargetRef/name', group: 'autoscaling', kind: 'HorizontalPodAutoscaler' },
  { path: 'spec/scaleTargetRef/name', group: 'keda.sh', kind: 'ScaledObject' },
];

/** Returns the file for `configurations:` of a kustomization. Throws if a field names an object of an unknown kind. */
export function kustomizeConfiguration(): Artifact {
  refuseUnknown();
  const ours = { group: GROUP, version: VERSION };
  const content = {
    nameReference: [
      { version: 'v1', kind: 'Secret', fieldSpecs: matching(SECRET_FIELD) },
      { ...ours, kind: marketplaceAccountResource.kind, fieldSpecs: matching(ACCOUNT_FIELD) },
      { ...ours, kind: endpointGroupResource.kind, fieldSpecs: SCALERS },
    ],
    images: matching(IMAGE_FIELD),
  };
  return { path: PATH, content: HEAD + yaml(content) };
}
