/**
 * `node test/status-contract/main.ts <versions.json> <kstatus program>`: makes recorded.json of what
 * RECORD_VERSIONS=<file> wrote in test/install/least-privilege, with what the Go library says of each object.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordedVersion } from './version-recorder.ts';

const [versionsPath = '', program = ''] = process.argv.slice(2);
const versions = JSON.parse(readFileSync(versionsPath, 'utf8')) as readonly RecordedVersion[];

/** Returns a signature: kind, deletion, levels, and each condition in one word; one version of each is kept. */
function signature({ kind, metadata, status }: RecordedVersion): string {
  const words = status?.conditions?.map(({ type, status: value, reason }) => `${type}=${value}/${reason}`);
  const isBehind = status?.observedGeneration !== metadata.generation;
  return JSON.stringify([kind, metadata.deletionTimestamp !== undefined, isBehind, words]);
}

/** Returns the fields that judges read, to keep the file small. */
function essence({ apiVersion, kind, metadata, status }: RecordedVersion): RecordedVersion {
  const { name, namespace, generation, deletionTimestamp } = metadata;
  const { observedGeneration, conditions } = status ?? {};
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, generation, ...(deletionTimestamp && { deletionTimestamp }) },
    status: {
      ...(observedGeneration !== undefined && { observedGeneration }),
      ...(conditions && { conditions }),
    },
  };
}

const distinct = [...new Map(versions.map((version) => [signature(version), essence(version)])).values()];
const judged = JSON.parse(
  execFileSync(program, { input: JSON.stringify(distinct), encoding: 'utf8' }),
) as string[];
const recorded = distinct.map((object, index) => ({ kstatus: judged[index], object }));
writeFileSync(join(import.meta.dirname, 'recorded.json'), `${JSON.stringify(recorded, undefined, 1)}\n`);
process.stdout.write(`${recorded.length} of ${versions.length} versions\n`);
