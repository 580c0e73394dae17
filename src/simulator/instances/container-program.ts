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

/** Returns a line of the container's log. */
export function describeProgram(program: Program): string {
  switch (program.type) {
    case 'words':
      return `running ${JSON.stringify(program.words)}`;
    case 'script':
      return `running onstart (${program.text.length} characters)`;
    case 'nothing':
      return "running no program: the image's own does not start in this mode";
  }
}
