import type { BoundMutant } from './catalogue.ts';
import type { Failing, Kill } from './kills.ts';

/** Renders the page of mutants of the bounds and their kills. */
export function reportOf(mutants: readonly BoundMutant[], known: ReadonlyMap<string, Kill>): string {
  const kills = mutants.flatMap(({ name }) => known.get(name) ?? []);
  const byUnit = kills.filter(({ unit }) => unit).length;
  const byEnvoy = kills.filter(({ envoy }) => envoy).length;
  const withEnvoy = mutants.filter(({ envoy }) => envoy).length;
  const rows = mutants.map((mutant) => rowOf(mutant, known.get(mutant.name) ?? {}));
  return `# Mutants of the gateway's bounds

Each mutant is a mistake in what bounds the gateway: memory, connections, bodies, work, trust in slices and headers, retries,
preflights. A unit test has to fail with it, and if Envoy has a part in it a test with a real Envoy too.
\`npx node test/gateway/mutants/main.ts\` runs all of them and writes this page; \`--only <name>\` runs one. Mutants of the
queue are in [mutants.md](mutants.md).

Killed: ${byUnit} of ${mutants.length} by a unit test, ${byEnvoy} of ${withEnvoy} with a real Envoy.

| Mutant | What is lost | Unit test that fails | Test with Envoy that fails |
|---|---|---|---|
${rows.join('\n')}
`;
}

function rowOf({ name, loses, file }: BoundMutant, { unit, envoy }: Kill): string {
  const cells = [name, `${loses} (\`${file}\`)`, shown(unit), shown(envoy)];
  return `| ${cells.map((cell) => cell.replaceAll('|', '/').replaceAll('\n', ' ')).join(' | ')} |`;
}

function shown(test: Failing | undefined): string {
  return test ? `\`${test.file}\`: ${test.name}` : '–';
}
