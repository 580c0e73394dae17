import type { GpuInstanceManifestSpec } from '../../api/v1alpha1/gpu-instance.ts';
import { omitUndefined } from '../../lib/json.ts';
import type { CommandInput, CommandOption } from '../command.ts';
import { usageError } from '../command-error.ts';
import { dollarsOption, listOption, numberOption, textOption } from '../option-values.ts';
import { containerFlags } from './container-flags.ts';
import { imageOption } from './image-args.ts';

/** Options of commands that write the manifest of a GpuInstance: the machine and its container. */
export const MACHINE_OPTIONS: readonly CommandOption[] = [
  {
    flags: '--gpu <name>',
    description: 'GPU model from gpu-rent list gpus; repeatable.',
    repeatable: true,
  },
  { flags: '--count <n>', description: 'Number of GPUs. Default: 1.' },
  { flags: '--image <image>', description: 'Image of the container.' },
  { flags: '--max-price <dollars>', description: 'Maximum cost per hour.' },
  {
    flags: '--max-cost <dollars>',
    description: 'Maximum total cost; at this amount the machine is destroyed.',
  },
  { flags: '--disk <quantity>', description: 'Such as 64G.' },
  {
    flags: '--env <name=value>',
    description:
      "A variable of the container, or the marketplace's own form '-e A=b -p 8000:8000'; repeatable.",
    repeatable: true,
  },
  { flags: '--account <name>', description: 'The MarketplaceAccount. Default: default.' },
];

type Options = CommandInput['options'];

/**
 * Returns readers of {@link MACHINE_OPTIONS}. Each throws a usage error for an invalid value, so that one message can
 * name all of them.
 */
export function machineParts(options: Options) {
  return {
    image: () => requiredImage(options),
    gpuCount: () => numberOption(options, '--count', { min: 1, whole: true }),
    maxPricePerHour: () => dollars(options, '--max-price'),
    maxTotalCost: () => dollars(options, '--max-cost'),
    container: () => containerFields(listOption(options, '--env')),
  };
}

/** Values of the readers of {@link machineParts}. */
type MachineParts = {
  readonly [Key in keyof ReturnType<typeof machineParts>]: ReturnType<ReturnType<typeof machineParts>[Key]>;
};

/** Fields of the spec from {@link MACHINE_OPTIONS}; the account is separate, because it comes first in a manifest. */
export function machineFields(
  options: Options,
  { image, gpuCount, maxPricePerHour, maxTotalCost, container }: MachineParts,
) {
  const gpuNames = listOption(options, '--gpu');
  const account = textOption(options, '--account');
  return {
    account: account === undefined ? {} : { accountRef: { name: account } },
    machine: {
      offers: [{ ...(gpuNames.length > 0 && { gpuNames }), ...omitUndefined({ gpuCount, maxPricePerHour }) }],
      image,
      ...omitUndefined({ disk: textOption(options, '--disk'), maxTotalCost }),
      ...container,
    },
  };
}

function requiredImage(options: Options): string {
  const image = imageOption(options);
  if (image === undefined) throw usageError('--image is missing.', 'Give an image: --image ubuntu:24.04.');
  return image;
}

/** Returns the amount in the field's form: a text. Throws a usage error for an invalid amount. */
function dollars(options: Options, flag: string): string | undefined {
  const amount = dollarsOption(options, flag);
  return amount === undefined ? undefined : textOption(options, flag)?.replace(/^\$/, '');
}

/** Returns `env` and `ports` of the spec from the given options. */
function containerFields(texts: readonly string[]): Pick<GpuInstanceManifestSpec, 'env' | 'ports'> {
  const { variables, ports } = containerFlags(texts);
  const env = variables.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) throw usageError(`--env: "${text}" is not NAME=VALUE.`);
    return { name: text.slice(0, at), value: text.slice(at + 1) };
  });
  return {
    ...(env.length > 0 && { env }),
    ...(ports.length > 0 && {
      ports: ports.map(({ port, protocol }) => ({
        containerPort: port,
        ...(protocol === 'udp' && { protocol: 'UDP' as const }),
      })),
    }),
  };
}
