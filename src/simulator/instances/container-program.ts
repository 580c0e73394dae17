import type { Settings } from '../settings.ts';
import type { Contract } from '../tables/contracts.ts';

/*
 * Which program runs in a container. In the SSH and Jupyter modes the service's own entrypoint replaces the image's, and
 * runs `onstart`; in mode `args` the image's entrypoint stays, and arguments replace its CMD. PURE.
 */

/** Entrypoint and command of an image. */
interface BuiltImage {
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
}

const IMAGES: Readonly<Record<string, BuiltImage>> = {
  'vllm/vllm-openai': { entrypoint: ['python3', '-m', 'vllm.entrypoints.openai.api_server'], cmd: [] },
  'ghcr.io/huggingface/text-generation-inference': { entrypoint: ['/tgi-entrypoint.sh'], cmd: [] },
  'ollama/ollama': { entrypoint: ['/bin/ollama'], cmd: ['serve'] },
};
const OTHER_IMAGE: BuiltImage = { entrypoint: [], cmd: ['bash'] };

/** Program of a container. */
export type Program =
  | { readonly type: 'words'; readonly words: readonly string[] }
  | { readonly type: 'script'; readonly text: string }
  /** The service's own set-up only. */
  | { readonly type: 'nothing' };

/** Returns the program of a contract, when its container runs. */
export function programOf(
  { image, runtype, onstart, args }: Pick<Contract, 'args' | 'image' | 'onstart' | 'runtype'>,
  { containers }: Pick<Settings, 'containers'>,
): Program {
  if (runtype !== 'args') return onstart ? { type: 'script', text: onstart } : { type: 'nothing' };
  if (onstart && containers.argsOnstart === 'entrypoint') return { type: 'words', words: [onstart, ...args] };
  const { entrypoint, cmd } = IMAGES[nameOf(image)] ?? OTHER_IMAGE;
  return { type: 'words', words: [...entrypoint, ...(args.length > 0 ? args : cmd)] };
}

function nameOf(image: string): string {
  return image
    .replace(/^docker\.io\//, '')
    .replace(/@.*$/, '')
    .replace(/:[^/:]*$/, '');
}

/** Returns a line of the container's log; undefined if the log does not show the program. */
export function describeProgram(
  program: Program,
  { onstartInLog }: Pick<Settings['containers'], 'onstartInLog'>,
): string | undefined {
  switch (program.type) {
    case 'words':
      return `running ${JSON.stringify(program.words)}`;
    case 'script':
      return onstartInLog ? `running onstart (${program.text.length} characters)` : undefined;
    case 'nothing':
      return "running no program: the image's own does not start in this mode";
  }
}

/** Lines with which a start text reports the start and the end of its program. */
const MARKER = /^gpurental [A-Za-z0-9]+ (?:start|exit) \d+$/;

const hasOwnMarkers = (output: readonly string[]): boolean => output.some((line) => MARKER.test(line));

/** Characters that are left of a log that the service truncates. */
const TRUNCATED_CHARACTERS = 4096;

/** Returns the lines of a log that the service shows, by `containers.logTruncated`; it cuts no line. */
export function shownLog(
  lines: readonly string[],
  { logTruncated }: Pick<Settings['containers'], 'logTruncated'>,
): readonly string[] {
  if (logTruncated === 'never') return lines;
  const ordered = logTruncated === 'end' ? lines : lines.toReversed();
  let left = TRUNCATED_CHARACTERS;
  const kept = ordered.filter((line) => {
    left -= line.length + 1;
    return left >= 0;
  });
  return logTruncated === 'end' ? kept : kept.toReversed();
}

const MINUTE_MS = 60_000;
/** Maximum lines that a modelled program writes for the minutes of its run. */
const MAX_LOG_MINUTES = 10_000;

/** Returns the log of a modelled container: the service's lines, then those that its program wrote. */
export function modelledLog(
  contract: Contract,
  { now, settings }: { readonly now: number; readonly settings: Settings },
): readonly string[] {
  const at = (time: number): string => new Date(time).toISOString();
  const { id, image, createdAt, statusSince, actualStatus, runtype, output = [] } = contract;
  // Such a script writes to the output of the first process.
  const isShown = runtype === 'args' || settings.containers.onstartInLog || hasOwnMarkers(output);
  const created = `${at(createdAt)} creating container C.${id} from ${image}`;
  const written = isShown ? output : [];
  if (actualStatus !== 'running')
    return [created, ...written, `${at(statusSince)} state ${actualStatus ?? 'provisioning'}`];
  const program = describeProgram(programOf(contract, settings), settings.containers);
  const lines = [created, ...(program === undefined ? [] : [`${at(statusSince)} ${program}`])];
  lines.push(`${at(statusSince)} simulated container is up`);
  // Like a program that writes a permanent line each minute.
  const minutes = Math.floor((now - statusSince) / MINUTE_MS);
  for (let minute = Math.max(1, minutes - MAX_LOG_MINUTES); minute <= minutes; minute += 1)
    lines.push(`${at(statusSince + minute * MINUTE_MS)} simulated container is up for ${minute} min`);
  return [...lines, ...written];
}
