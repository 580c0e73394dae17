import * as z from 'zod';
import type { EndpointGroupSpec } from '../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupSpec } from '../../api/v1alpha1/endpoint-group-spec.ts';
import type { CelRule } from '../../api/v1alpha1/schema.ts';
import { compileCel } from './cel.ts';
import type { Fault, YamlPath } from './yaml-source.ts';

/** What the rules need of a JSON schema. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
}

/** The GpuInstance of a worker has rules of its own, with functions that only an API server has. */
const LEFT_TO_THE_API_SERVER = 'spec.template.spec';

/**
 * What the rules of the custom resource definition refuse of a group, which no cluster is asked about here. They are
 * read from the schema itself. Rules on a change (`oldSelf`) and those of the workers' own spec do not run.
 */
export function groupFaults(spec: EndpointGroupSpec): readonly Fault[] {
  return faultsOf(z.toJSONSchema(endpointGroupSpec, { unrepresentable: 'any' }) as Schema, spec, ['spec']);
}

function faultsOf(schema: Schema, value: unknown, path: YamlPath): readonly Fault[] {
  if (value === undefined || path.join('.') === LEFT_TO_THE_API_SERVER) return [];
  const rules = schema['x-kubernetes-validations'] ?? [];
  const own = rules.filter((rule) => isBroken(rule, value)).map((rule) => faultOf(rule, value, path));
  const fields = Object.entries(schema.properties ?? {});
  const nested = fields.flatMap(([name, field]) =>
    faultsOf(field, Reflect.get(Object(value), name), [...path, name]),
  );
  return [...own, ...nested];
}

function isBroken({ rule }: CelRule, self: unknown): boolean {
  return !/\boldSelf\b/.test(rule) && compileCel(rule)({ self }) !== true;
}

function faultOf(
  { message, messageExpression, fieldPath = '' }: CelRule,
  self: unknown,
  path: YamlPath,
): Fault {
  const said = messageExpression === undefined ? message : compileCel(messageExpression)({ self });
  return { path: [...path, ...fieldPath.split('.').slice(1)], message: String(said) };
}
