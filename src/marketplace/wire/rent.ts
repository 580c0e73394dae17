import * as z from 'zod';
import type { RentRequest, VolumeRequest } from '../instances/rent-request.ts';
import { looseText, wireId } from './scalars.ts';

/** Body of a rent (specification 4.5 and the other fields that services take). */
export interface WireRent {
  readonly image: string | undefined;
  /** GB. */
  readonly disk: number | undefined;
  /** Variables by name, and container options as keys. */
  readonly env: Readonly<Record<string, string>> | undefined;
  /** Bid in dollars per hour. */
  readonly price: number | undefined;
  readonly label: string | undefined;
  readonly onstart: string | undefined;
  readonly runtype: string | undefined;
  readonly args: readonly string[] | undefined;
  readonly image_login: string | undefined;
  readonly template_hash_id: string | undefined;
  readonly template_id: number | undefined;
  readonly volume_info: WireVolumeInfo | undefined;
  readonly cancel_unavail: boolean | undefined;
  readonly force: boolean | undefined;
  readonly vm: boolean | undefined;
  readonly user: string | undefined;
  readonly extra: string | undefined;
  readonly target_state: string | undefined;
}

/** A disk attached on renting; with `create_new` the id is that of an offer. */
export interface WireVolumeInfo {
  readonly mount_path: string;
  readonly create_new: boolean;
  readonly volume_id: number;
  readonly name?: string;
  readonly size?: number;
}

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

function volumeInfo(volume: VolumeRequest | undefined): WireVolumeInfo | undefined {
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
    args: request.args,
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
