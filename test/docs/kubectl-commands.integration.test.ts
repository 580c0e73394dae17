import { chmodSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { findOnPath } from '../cluster/kubectl.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { installDefinitions } from '../crds/install.ts';
import { shownCommands } from './code-blocks.ts';
import { type Typist, typistOn } from './typist.ts';

/* Every kubectl command of every page is one that kubectl takes. Nothing is changed: what writes runs as a dry run. */

const PAGES = globSync(['*.md', 'docs/**/*.md', 'charts/*/README.md'], { cwd: REPOSITORY });
const READS = ['get', 'describe', 'wait'];
const WRITES = ['annotate', 'apply', 'create', 'delete', 'label', 'patch', 'scale', 'set'];

/** Returns true for a command that is only mentioned: a verb, with flags or at most one word. */
const isMention = (line: string) =>
  /^kubectl [a-z-]+( -[-a-z=]+| [a-z]+)*( [-a-zA-Z=]+)?$/.test(line) && !/ (gpui|epg|gpuacct)\b/.test(line);

/** Returns the command with names for placeholders, with an end, and without the file that it would write. */
const asTyped = (line: string) =>
  line
    .replace(/ …$/, '')
    .replace(/ -w$/, '')
    .replace(/ > \S+$/, '')
    .replaceAll(/\b(NAMESPACE|NAME)\b/g, 'example');

/** Each command once, with the first page that shows it. */
const shown = new Map(
  PAGES.flatMap((page) => shownCommands(page, 'kubectl').map((line) => ({ page, line })))
    .filter(({ line }) => !isMention(line) && [...READS, ...WRITES].includes(line.split(' ')[1] ?? ''))
    .map(({ page, line }) => ({ page, line: asTyped(line) }))
    .reverse()
    .map((each) => [each.line, each]),
);

let cluster: ClusterAccess;
let folder = '';
let type: Typist;

/** Returns a script for kubectl that changes nothing and does not wait. A token is no object, and has no dry run. */
const HARMLESS = (kubectl: string) => `#!/bin/bash
[ "$1 $2" = "create token" ] && exec ${kubectl} "$@"
case "$1" in
  ${WRITES.join('|')}) exec ${kubectl} "$@" --dry-run=server ;;
  wait) exec ${kubectl} "$@" --timeout=1s ;;
  *) exec ${kubectl} "$@" ;;
esac
`;

beforeAll(async () => {
  cluster = sharedCluster();
  await installDefinitions(cluster.admin);
  folder = mkdtempSync(join(tmpdir(), 'kubectl-'));
  const { kubectlPath } = cluster;
  const kubectl = isAbsolute(kubectlPath) ? kubectlPath : (findOnPath(kubectlPath, process.env.PATH) ?? '');
  writeFileSync(join(folder, 'kubectl'), HARMLESS(kubectl));
  chmodSync(join(folder, 'kubectl'), 0o755);
  type = typistOn(cluster, { folder: REPOSITORY, programs: [folder] });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await cluster.disconnect();
});

/** Acceptable errors of a command whose example object, file or kind does not exist. */
const MISSING =
  /not ?found|no such file|does not exist|already exists|no (matching )?resources|timed out waiting|have a resource type "application"/i;

test.each([...shown.values()])('F7: $page: kubectl takes $line', async ({ line }) => {
  const complaint = await type(line).then(
    () => undefined,
    (error: { readonly stderr?: string }) => error.stderr ?? String(error),
  );
  // A grep that finds nothing says nothing.
  if (complaint) expect(complaint).toMatch(MISSING);
});
