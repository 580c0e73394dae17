import type { MicroDollars } from '../lib/money.ts';
import type { Secret } from '../lib/secret.ts';
import type { MarketplaceId } from './ids.ts';

/** A port that the container opens. */
export interface ContainerPort {
  /** From 70000 on an identity port: the market opens one port with the same number inside and outside. */
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
}

/** Login for the registry of the image. */
export interface RegistryLogin {
  readonly host: string;
  readonly username: string;
  readonly password: Secret;
}

/** A rental request of the operator, the same for every market. */
export interface RentRequest {
  readonly image?: string;
  readonly diskGB: number;
  readonly label: string;
  readonly env: Readonly<Record<string, string>>;
  readonly ports: readonly ContainerPort[];
  /** Bid per machine and hour; it makes the rental interruptible. */
  readonly bidPerHour?: MicroDollars;
  /** True if the machine accepts SSH. Without effect if `args` are set: the image then runs its own program. */
  readonly ssh: boolean;
  /** Words for the program of the image; undefined if the market's own program runs and then `onStart`. */
  readonly args?: readonly string[];
  /** A script from {@link ScriptFacts.pack}; with `args` the program that replaces the image's own. */
  readonly onStart?: string;
  readonly imageLogin?: RegistryLogin;
}

/** A machine was rented. */
export interface Rented {
  readonly instanceId: MarketplaceId;
  /** Key that opens this one machine at its market. */
  readonly instanceApiKey: Secret | undefined;
  /** Epoch milliseconds of the reply, on the market's clock. */
  readonly answeredAt: number | undefined;
}

/** A start script as a market accepts it, or its figures if it is too long. */
export type PackedScript =
  | { readonly type: 'fits'; readonly script: string }
  /** `bytes`: its size in UTF-8; `packedLength`: its characters when packed. */
  | { readonly type: 'tooLong'; readonly bytes: number; readonly packedLength: number };

/** Limits of the start of a container. */
export interface ScriptFacts {
  /** Maximum characters of a packed script. */
  readonly max: number;
  pack(script: string): PackedScript;
  /** Returns the excess length of script and arguments together as text, with the figure; undefined if both fit. */
  tooLong(script: string | undefined, args: readonly string[] | undefined): string | undefined;
}
