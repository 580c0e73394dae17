import { gzipSync } from 'node:zlib';
import * as z from 'zod';
import type { MicroDollars } from '../../../lib/money.ts';
import { Secret } from '../../../lib/secret.ts';
import type { CallOptions } from '../../../market/call-options.ts';
import { MarketplaceError } from '../../../market/errors.ts';
import type { MarketplaceId } from '../../../market/ids.ts';
import { type ChangeAnswer, type Requester, sendChange } from '../http/call.ts';
import { pathId, toId, toOptionalWireId, toWireId } from '../ids.ts';
import { looseText, wireId } from '../scalars.ts';

/** A port that the container opens. */
export interface ContainerPort {
  /**
   * From 70000 on an identity port: the marketplace opens one port with the same number inside and outside, which
   * `VAST_TCP_PORT_70000` names in the container.
   */
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
}

/** A disk that is attached when renting. */
export type VolumeRequest =
  | { readonly type: 'existing'; readonly volumeId: MarketplaceId; readonly mountPath: string }
  | {
      readonly type: 'new';
      readonly volumeOfferId: MarketplaceId;
      readonly mountPath: string;
      readonly sizeGB?: number;
      readonly name?: string;
    };

/** A rent request (specification 4.5 and fields that services add). Only set fields are sent. */
export interface RentRequest {
  /** Optional only with a template. */
  readonly image?: string;
  readonly diskGB?: number;
  readonly label?: string;
  /** At most 4048 bytes; longer scripts are refused, so pack them first (`packOnStart`). CR LF is sent as LF. */
  readonly onStart?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly ports?: readonly ContainerPort[];
  /** Bid per machine and hour; it makes the rental interruptible. */
  readonly bidPerHour?: MicroDollars;
  /** Access to the machine, e.g. `ssh_direc ssh_proxy`, or `args`. */
  readonly runType?: string;
  /** Words for the program; together with `onStart` at most 4096 bytes. */
  readonly args?: readonly string[];
  /** Registry login flags: `-u bob -p pw registry.example`. */
  readonly imageLogin?: Secret;
  readonly templateHashId?: string;
  readonly templateId?: MarketplaceId;
  readonly volume?: VolumeRequest;
  /** true: a machine that cannot start is not created, instead of created stopped. */
  readonly cancelUnavailable?: boolean;
  readonly force?: boolean;
  readonly virtualMachine?: boolean;
  readonly containerUser?: string;
  /** Extra container options, as text. */
  readonly extra?: string;
  readonly targetState?: 'running' | 'stopped';
}

/** A machine was rented. */
export interface RentAnswer {
  readonly instanceId: MarketplaceId;
  /** Restricted key of this one machine. */
  readonly instanceApiKey: Secret | undefined;
  readonly answeredAt: number | undefined;
}

/** Renting (specification 4.5). A write: no layer repeats it. */
export interface RentCalls {
  /**
   * Rents an offer with one request. Rejects with a MarketplaceError; if its outcome is `unknown`, a machine may exist
   * and bill.
   */
  rent(
    offerId: MarketplaceId,
    request: RentRequest,
    options: CallOptions & { readonly deadlineMs: number },
  ): Promise<RentAnswer>;
  /**
   * Rents many offers with the same settings. The form of the reply is not documented: find the machines in the list by
   * label.
   */
  rentMany(
    offerIds: readonly MarketplaceId[],
    request: RentRequest,
    options?: CallOptions,
  ): Promise<ChangeAnswer>;
}

/** Body of a rent (specification 4.5 and other fields that services accept). */
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

/** A disk attached when renting; with `create_new` the id is that of an offer. */
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

/** Returns ports as container options, which are keys of `env`. */
function portOption(port: number, protocol: 'tcp' | 'udp'): string {
  return protocol === 'tcp' ? `-p ${port}:${port}` : `-p ${port}:${port}/udp`;
}

function volumeInfo(volume: VolumeRequest | undefined): WireVolumeInfo | undefined {
  if (volume === undefined) return undefined;
  const common = { mount_path: volume.mountPath };
  if (volume.type === 'existing')
    return { ...common, create_new: false, volume_id: toWireId(volume.volumeId, 'volumeId') };
  return {
    ...common,
    create_new: true,
    volume_id: toWireId(volume.volumeOfferId, 'volumeOfferId'),
    ...(volume.sizeGB === undefined ? {} : { size: volume.sizeGB }),
    ...(volume.name === undefined ? {} : { name: volume.name }),
  };
}

/**
 * Throws a MarketplaceError, outcome `refused`, for a script or arguments that are too long for the marketplace: a
 * service may truncate them, and bill a machine that runs another program.
 */
function refuseTooLong(operation: string, { onStart, args }: RentRequest): void {
  const script = onStart === undefined ? undefined : withLineFeeds(onStart);
  const bytes = Buffer.byteLength(script ?? '');
  const problem =
    bytes > ON_START_LIMIT
      ? `onStart has ${bytes} bytes, at most ${ON_START_LIMIT} fit: send what packOnStart returns`
      : startTooLong(script, args);
  if (problem === undefined) return;
  throw new MarketplaceError(`${operation}: ${problem}`, { kind: 'invalidRequest', outcome: 'refused' });
}

/** Returns a rent in wire form, without fields that are not set. */
export function toWireRent(request: RentRequest): WireRent {
  return {
    image: request.image,
    disk: request.diskGB,
    env: containerEnvironment(request),
    price: request.bidPerHour === undefined ? undefined : request.bidPerHour / 1_000_000,
    label: request.label,
    onstart: request.onStart === undefined ? undefined : withLineFeeds(request.onStart),
    runtype: request.runType,
    args: request.args,
    image_login: request.imageLogin?.reveal(),
    template_hash_id: request.templateHashId,
    template_id: toOptionalWireId(request.templateId, 'templateId'),
    volume_info: volumeInfo(request.volume),
    cancel_unavail: request.cancelUnavailable,
    force: request.force,
    vm: request.virtualMachine,
    user: request.containerUser,
    extra: request.extra,
    target_state: request.targetState,
  };
}

/** Maximum offers of one bulk rent. */
const BULK_LIMIT = 64;

/** Creates the rent calls over one requester (specification 4.5). */
export function createRentals(requester: Requester): RentCalls {
  return {
    async rent(offerId, request, options) {
      refuseTooLong('rent an offer', request);
      const { value, answeredAt } = await requester.send({
        operation: 'rent an offer',
        endpointClass: 'rent',
        area: 'rent',
        effect: 'write',
        method: 'PUT',
        path: `/api/v0/asks/${pathId(offerId, 'offerId')}/`,
        body: toWireRent(request),
        reply: rentReply,
        bounds: options,
      });
      const key = value.instance_api_key;
      return {
        instanceId: toId(value.new_contract),
        instanceApiKey: key ? new Secret(key) : undefined,
        answeredAt,
      };
    },

    async rentMany(offerIds, request, options) {
      if (offerIds.length === 0 || offerIds.length > BULK_LIMIT)
        throw new MarketplaceError(
          `rent many offers: give 1 to ${BULK_LIMIT} offer ids, not ${offerIds.length}`,
          { kind: 'invalidRequest', outcome: 'refused' },
        );
      refuseTooLong('rent many offers', request);
      return sendChange(requester, {
        operation: 'rent many offers',
        endpointClass: 'rent',
        area: 'rent',
        method: 'POST',
        path: '/api/v0/asks/bulk/',
        body: { ...toWireRent(request), ids: offerIds.map((id) => toWireId(id, 'offerId')) },
        bounds: options,
      });
    },
  };
}

/** Maximum characters of a startup script (specification 8). */
export const ON_START_LIMIT = 4048;
/** Maximum bytes of script and arguments together, documented by the marketplace. */
const START_LIMIT = 4096;

/** Returns the excess length of script and arguments together as text, with the figure; undefined if both fit. */
export function startTooLong(onStart: string | undefined, args: readonly string[] = []): string | undefined {
  const bytes = Buffer.byteLength([...(onStart === undefined ? [] : [onStart]), ...args].join(' '));
  if (args.length === 0 || bytes <= START_LIMIT) return undefined;
  return `script and args have ${bytes} bytes together, at most ${START_LIMIT} fit: put the rest into the image or into env`;
}

/** A script that fits, or the reason why it does not. */
export type PackedOnStart =
  | { readonly type: 'plain'; readonly script: string }
  /** A line that unpacks and runs the script. */
  | { readonly type: 'packed'; readonly script: string }
  /** `bytes`: its size in UTF-8; `packedLength`: its characters when packed. */
  | {
      readonly type: 'tooLong';
      readonly bytes: number;
      readonly packedLength: number;
      readonly message: string;
    };

/** Returns the script with LF for CR LF: a shell reads a CR as part of the last word. */
function withLineFeeds(script: string): string {
  return script.replaceAll('\r\n', '\n');
}

/**
 * Returns the script in the form in which it is sent (specification 4.5), with LF for CR LF. Up to 4048 characters it
 * is unchanged. A longer one is compressed with gzip and encoded with base64 inside a line that any POSIX shell with
 * `base64` and `gzip` runs. The same script always gives the same line.
 */
export function packOnStart(given: string): PackedOnStart {
  const script = withLineFeeds(given);
  const bytes = Buffer.byteLength(script);
  if (script.length <= ON_START_LIMIT && bytes <= ON_START_LIMIT) return { type: 'plain', script };
  const packed = runnable(gzipSync(script, { level: 9 }).toString('base64'), script);
  if (packed.length <= ON_START_LIMIT) return { type: 'packed', script: packed };
  return {
    type: 'tooLong',
    bytes,
    packedLength: packed.length,
    message:
      `the startup script has ${bytes} bytes, and ${packed.length} when compressed; at most ${ON_START_LIMIT} ` +
      'fit: move parts of it into the image, or let it download them',
  };
}

/** Returns a command that runs the script with the interpreter of its first line, otherwise with bash if it exists. */
function runnable(base64: string, script: string): string {
  const interpreter = /^#!\s*(\/[^\n]*)/.exec(script)?.[1]?.trim() ?? '$(command -v bash || echo sh)';
  return `f=$(mktemp)&&echo ${base64}|base64 -d|gzip -d>$f&&${interpreter} $f`;
}
