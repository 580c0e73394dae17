import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  endpointGroupConditions,
  gpuInstanceConditions,
  marketplaceAccountConditions,
} from '../../src/api/v1alpha1/conditions.ts';

const FOLDER = join(import.meta.dirname, '..', 'golden', 'decisions');
/** Recorded decisions of the kinds that have one file; every other file is of GpuInstances. */
const OF_GROUPS = 'endpoint-group.txt';
const OF_ACCOUNTS = 'marketplace-account.txt';
const OF_INSTANCES = readdirSync(FOLDER).filter((file) => file !== OF_GROUPS && file !== OF_ACCOUNTS);

/** Returns the condition types that the recorded decisions set: a line is `Ready False NoOffers: …`. */
function typesIn(...files: readonly string[]): ReadonlySet<string | undefined> {
  const texts = files.map((file) => readFileSync(join(FOLDER, file), 'utf8')).join('\n');
  return new Set([...texts.matchAll(/^([A-Z][A-Za-z]+) (?:True|False|Unknown) /gm)].map(([, type]) => type));
}

test.each([
  ['GpuInstance', gpuInstanceConditions, typesIn(...OF_INSTANCES)],
  ['EndpointGroup', endpointGroupConditions, typesIn(OF_GROUPS)],
  ['MarketplaceAccount', marketplaceAccountConditions, typesIn(OF_ACCOUNTS)],
])('every condition of a %s is set by a recorded decision', (_, catalogue, types) => {
  expect(Object.keys(catalogue).filter((type) => !types.has(type))).toEqual([]);
});
