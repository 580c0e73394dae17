import type { GpuInstanceSpec } from '../api/v1alpha1/gpu-instance.ts';
import { trimmedOf } from '../api/v1alpha1/trimmed-spec.ts';
import { shellCommand } from '../lib/shell.ts';

/* Launch of a container, from the spec of its GpuInstance alone. PURE. */

/** The fields that decide how the container starts. */
export type LaunchSpec = Pick<
  GpuInstanceSpec,
  'args' | 'command' | 'completion' | 'entrypoint' | 'image' | 'onStart' | 'onStartFrom' | 'ssh'
>;

/** Launch mode of the container. */
export interface Launch {
  /** SSH is requested. With `args` the image runs its own program, without an SSH server. */
  readonly ssh: boolean;
  /** Words for the program of the image; undefined if the marketplace's own program runs. */
  readonly args: readonly string[] | undefined;
  /** The field that is sent as `onstart`: a script, or with `args` the program in place of the image's own. */
  readonly onStart:
    | { readonly type: 'script'; readonly text: string }
    | { readonly type: 'program'; readonly text: string }
    | {
        readonly type: 'secret';
        readonly secretKeyRef: NonNullable<GpuInstanceSpec['onStartFrom']>['secretKeyRef'];
      }
    | undefined;
}

/**
 * Returns the launch of a spec that the rules of the CRDs accept. Without `args` the marketplace replaces the image's
 * entrypoint with its own, and runs `onStart` after its set-up; with `args` the image's entrypoint stays, and `args`
 * replace its CMD. The program of a run is a script in both modes, because its wrapper starts it.
 */
export function launchOf(spec: LaunchSpec): Launch {
  const { args, command, completion, entrypoint, onStart, onStartFrom, ssh } = spec;
  if (command) {
    const words = [...command, ...(args ?? [])];
    const [program = '', ...rest] = words;
    return entrypoint === 'Override' && completion === undefined
      ? { ssh, args: rest, onStart: { type: 'program', text: program } }
      : { ssh, args: undefined, onStart: { type: 'script', text: shellCommand(words) } };
  }
  if (args) return { ssh, args, onStart: undefined };
  if (onStartFrom) return { ssh, args: undefined, onStart: { type: 'secret', ...onStartFrom } };
  const script = onStart === undefined ? undefined : ({ type: 'script', text: onStart } as const);
  return { ssh, args: undefined, onStart: script };
}

/** Images that are servers by default, and the arguments that their program needs. */
const SERVER_IMAGES: readonly { readonly image: RegExp; readonly args: string }[] = [
  { image: /^vllm\/vllm-openai$/, args: 'args: [--model, MODEL]' },
  { image: /^ghcr\.io\/huggingface\/text-generation-inference$/, args: 'args: [--model-id, MODEL]' },
  { image: /^ghcr\.io\/huggingface\/text-embeddings-inference$/, args: 'args: [--model-id, MODEL]' },
  { image: /^ollama\/ollama$/, args: 'args: []' },
  {
    image: /^lmsysorg\/sglang$/,
    args: 'args: [python3, -m, sglang.launch_server, --model-path, MODEL]',
  },
  { image: /^nvcr\.io\/nim\/.+/, args: 'args: []' },
];

/**
 * Returns a hint if a rental of this spec would run nothing: it has neither a script nor a program, and does not
 * request SSH. Undefined if something runs, nothing is rented, or the spec is a trimmed copy. No decision depends on
 * it.
 */
export function nothingStarts(spec: LaunchSpec & Pick<GpuInstanceSpec, 'adopt'>): string | undefined {
  if (trimmedOf(spec) !== undefined || spec.adopt !== undefined || spec.ssh) return undefined;
  const { args, onStart } = launchOf(spec);
  if (args !== undefined || onStart !== undefined) return undefined;
  const name = imageName(spec.image ?? '');
  const server = SERVER_IMAGES.find(({ image }) => image.test(name));
  return server
    ? `In SSH mode the server of ${name} does not run. Write ${server.args} to run the image as built, or onStart.`
    : "In SSH mode the image's own program does not run. Write args: [] to run the image as built, or onStart.";
}

/** Returns the image without registry of Docker Hub, tag and digest. */
export function imageName(image: string): string {
  return image
    .replace(/^(index\.)?docker\.io\//, '')
    .replace(/@.*$/, '')
    .replace(/:[^/:]*$/, '');
}
