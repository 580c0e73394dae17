import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ServerProcess, startServer } from '../../cluster/server-process.ts';
import { downloadModule, type GoTool } from '../../tools/go-tool.ts';

/** Folder whose go.mod names the program and its dependencies. */
const TOOLS_FOLDER = join(import.meta.dirname, '../flux-go');

/** Returns the version of a Flux module that the go.mod requires. */
function requiredVersion(module: string): string {
  const lines = readFileSync(join(TOOLS_FOLDER, 'go.mod'), 'utf8').split('\n');
  const words = lines.map((line) =>
    line
      .replace(/^require /, '')
      .trim()
      .split(' '),
  );
  const version = words.find(([name]) => name === module)?.[1];
  if (version === undefined) throw new Error(`${TOOLS_FOLDER}/go.mod requires no ${module}.`);
  return version;
}

const CONTROLLER_MODULE = 'github.com/fluxcd/kustomize-controller';
const SOURCES_MODULE = 'github.com/fluxcd/source-controller';

/** The part of Flux that applies, watches and prunes. */
export const KUSTOMIZE_CONTROLLER: GoTool = {
  module: CONTROLLER_MODULE,
  version: requiredVersion(CONTROLLER_MODULE),
  main: '.',
  toolsFolder: TOOLS_FOLDER,
};

/** Folders with Flux's own CRDs: Kustomization, and every kind of source that the controller watches. */
export async function fluxCrdFolders(): Promise<readonly string[]> {
  const sources = { module: SOURCES_MODULE, version: requiredVersion(`${SOURCES_MODULE}/api`) };
  const env = { ...process.env, GOWORK: 'off', GOFLAGS: '' };
  const modules = await Promise.all([KUSTOMIZE_CONTROLLER, sources].map((one) => downloadModule(one, env)));
  return modules.map((module) => join(module, 'config/crd/bases'));
}

/** Settings of the controller's process. */
export interface ControllerPlan {
  readonly path: string;
  readonly kubeconfigPath: string;
  /** Folder for its log and temporary files. */
  readonly folder: string;
  readonly flags: readonly string[];
}

/**
 * Runs the program that follows its arguments, passes SIGTERM on to it, and kills it when stdin closes: when the
 * process that started this one is gone, however it ended.
 */
const END_WITH_PARENT = `
exec 3<&0
"$@" </dev/null &
program=$!
(read -r _; kill -9 "$program") <&3 &
watch=$!
trap 'kill "$program"' TERM
wait "$program"
wait "$program"
code=$?
kill "$watch"
exit "$code"
`;

/**
 * Starts the kustomize-controller as a process beside the API server, with the gates and intervals of Flux itself.
 * Only dependencies are read again every second instead of every 30 s.
 */
export function startKustomizeController({
  path,
  kubeconfigPath,
  folder,
  flags,
}: ControllerPlan): ServerProcess {
  const env = [`KUBECONFIG=${kubeconfigPath}`, 'RUNTIME_NAMESPACE=flux-system', `TMPDIR=${folder}`];
  const own = ['--metrics-addr=127.0.0.1:0', '--health-addr=127.0.0.1:0', '--requeue-dependency=1s'];
  return startServer({
    name: 'kustomize-controller',
    path: '/usr/bin/env',
    args: [...env, 'sh', '-c', END_WITH_PARENT, 'sh', path, ...own, ...flags],
    logPath: join(folder, 'kustomize-controller.log'),
  });
}
