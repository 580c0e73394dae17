import { z } from 'zod';
import type { RentRequest, VolumeRequest } from '../rent-request.ts';
import { looseText, wireId } from './scalars.ts';

/** Body of a rent (specification 4.5 and the other fields that services take). Null counts as not given. */
export const rentBody = z.looseObject({
  image: z.string().nullish(),
  disk: z.number().nullish(),
  env: z.union([z.record(z.string(), z.string()), z.string()]).nullish(),
  price: z.number().nullish(),
  label: z.string().nullish(),
  onstart: z.string().nullish(),
  runtype: z.string().nullish(),
  args: z.array(z.string()).nullish(),
  args_str: z.string().nullish(),
  image_login: z.string().nullish(),
  template_hash_id: z.string().nullish(),
  template_id: z.number().int().nullish(),
  volume_info: z
    .looseObject({
      mount_path: z.string(),
      create_new: z.boolean().optional(),
      volume_id: z.number().int(),
      name: z.string().optional(),
      size: z.number().optional(),
    })
    .nullish(),
  cancel_unavail: z.boolean().nullish(),
  force: z.boolean().nullish(),
  vm: z.boolean().nullish(),
  user: z.string().nullish(),
  extra: z.string().nullish(),
  target_state: z.string().nullish(),
});

/** A rent body as it travels. */
export type WireRent = z.infer<typeof rentBody>;

/** Reply of a rent (specification 4.5). */
export const rentReply = z.object({ new_contract: wireId, instance_api_key: looseText });

function containerEnvironment({ env, ports }: RentRequest): Record<string, string> | undefined {
  if (env === undefined && ports === undefined) return undefined;
  const options = (ports ?? []).map(({ port, protocol }): [string, string] => [
    portOption(port, protocol),
    '1',
  ]);
  return { ...env, ...Object.fromEntries(options) };
}

/** Ports are container options, which travel as keys of `env`. */
function portOption(port: number, protocol: 'tcp' | 'udp'): string {
  return protocol === 'tcp' ? `-p ${port}:${port}` : `-p ${port}:${port}/udp`;
}

function volumeInfo(volume: VolumeRequest | undefined): WireRent['volume_info'] {
  if (volume === undefined) return undefined;
  const common = { mount_path: volume.mountPath };
  if (volume.type === 'existing') return { ...common, create_new: false, volume_id: volume.volumeId };
  return {
    ...common,
    create_new: true,
    volume_id: volume.volumeOfferId,
    ...(volume.sizeGB === undefined ? {} : { size: volume.sizeGB }),
    ...(volume.name === undefined ? {} : { name: volume.name }),
  };
}

/** A rent as it travels. What is not set is not sent. */
export function toWireRent(request: RentRequest): WireRent {
  return {
    image: request.image,
    disk: request.diskGB,
    env: containerEnvironment(request),
    price: request.bidPerHour === undefined ? undefined : request.bidPerHour / 1_000_000,
    label: request.label,
    onstart: request.onStart,
    runtype: request.runType,
    args: request.args === undefined ? undefined : [...request.args],
    image_login: request.imageLogin?.reveal(),
    template_hash_id: request.templateHashId,
    template_id: request.templateId,
    volume_info: volumeInfo(request.volume),
    cancel_unavail: request.cancelUnavailable,
    force: request.force,
    vm: request.virtualMachine,
    user: request.containerUser,
    extra: request.extra,
    target_state: request.targetState,
  };
}
