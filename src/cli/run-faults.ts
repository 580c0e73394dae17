import { CommandError, usageError } from './command-error.ts';

/** A manifest from options. */
interface RunManifest {
  readonly metadata: { readonly name?: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The option that sets a field, by the beginning of its path. */
const OPTION_OF: readonly (readonly [string, string])[] = [
  ['metadata.name', '--name'],
  ['metadata.namespace', '-n'],
  ['spec.accountRef', '--account'],
  ['spec.args', '--args'],
  ['spec.command', 'the command behind --'],
  ['spec.completion.backoffLimit', '--backoff-limit'],
  ['spec.completion.lostLimit', '--lost-limit'],
  ['spec.disk', '--disk'],
  ['spec.env', '--env'],
  ['spec.image', '--image'],
  ['spec.maxLifetime', '--max-lifetime'],
  ['spec.maxTotalCost', '--max-cost'],
  ['spec.offers.0.gpuCount', '--count'],
  ['spec.offers.0.gpuNames', '--gpu'],
  ['spec.offers.0.maxPricePerHour', '--max-price'],
  ['spec.ports', '--env'],
];

/** Returns the result of each part. Throws one usage error for all parts that throw one. */
export function allOf<Parts extends Readonly<Record<string, () => unknown>>>(
  parts: Parts,
): { readonly [Key in keyof Parts]: ReturnType<Parts[Key]> } {
  const faults: CommandError[] = [];
  const read = Object.entries(parts).flatMap(([key, part]) => {
    try {
      return [[key, part()] as const];
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      faults.push(error);
      return [];
    }
  });
  if (faults.length > 0)
    throw usageError(
      faults.map(({ message }) => message).join('\n'),
      faults.flatMap(({ remedy }) => remedy ?? []).join(' ') || undefined,
    );
  return Object.fromEntries(read) as { readonly [Key in keyof Parts]: ReturnType<Parts[Key]> };
}

/**
 * Rejects with a usage error that names every option by whose value the resource definitions would refuse the object, as
 * an API server with these definitions does.
 */
export async function refuseOptions({ metadata, spec }: RunManifest): Promise<void> {
  const [{ gpuInstanceDefinition: definition }, { brokenRules }] = await Promise.all([
    import('../api/v1alpha1/definitions.ts'),
    import('./manifests/admission-rules.ts'),
  ]);
  const issues = definition.spec.safeParse(spec).error?.issues ?? [];
  // Only fields with the right form are checked against the rules.
  const broken = new Set(issues.map(({ path: [field] }) => String(field)));
  const rest = Object.fromEntries(Object.entries(spec).filter(([field]) => !broken.has(field)));
  const parsed = definition.spec.safeParse(rest);
  const faults = [
    ...issues.map(({ path, message }) => ({ path: ['spec', ...path], message })),
    ...(parsed.success ? brokenRules(definition, { metadata, spec: parsed.data }) : []),
  ].filter(({ path }) => broken.size === 0 || path.length > 1);
  if (faults.length === 0) return;
  const lines = faults.map(
    ({ path, message }) => `${optionOf(path.map(String).join('.'))}: ${asOption(message)}.`,
  );
  throw usageError([...new Set(lines)].join('\n'), 'Correct the options; --help shows examples.');
}

/** Quotes belong to YAML, not to a command line. */
function asOption(message: string): string {
  return message.replace(' in quotes', '').replace(/such as "([0-9.]+)"/, 'such as $1');
}

function optionOf(path: string): string {
  return OPTION_OF.find(([field]) => path === field || path.startsWith(`${field}.`))?.[1] ?? path;
}
