import type { MicroDollars } from '../../lib/money.ts';
import type { Secret } from '../../lib/secret.ts';
import type { ChangeAnswer } from '../http/change.ts';
import type { CallOptions } from '../offers/offers.ts';
import type { Slot } from '../pacing/pacing-slot.ts';
import type { Instance, InstanceList } from './instance.ts';
import type { RentRequest } from './rent-request.ts';

export type { ChangeAnswer } from '../http/change.ts';
export type { KnownStatus } from '../wire/instance-status.ts';
export type { ActualStatus, Instance, InstanceList } from './instance.ts';
export type { ContainerPort, RentRequest, VolumeRequest } from './rent-request.ts';

/** A machine was rented. */
export interface RentAnswer {
  readonly instanceId: number;
  /** The restricted key of this one machine. */
  readonly instanceApiKey: Secret | undefined;
  readonly answeredAt: number | undefined;
}

/** How a rent is called. */
export interface RentOptions extends CallOptions {
  /** A pacing place reserved before. */
  readonly slot?: Slot | undefined;
}

/** One page of the paged list. */
export interface InstancePage {
  readonly instances: readonly Instance[];
  readonly nextToken: string | null;
  /** Rows on this page or in all, as services count. */
  readonly found: number | undefined;
  readonly total: number | undefined;
}

/** What a page is asked for. */
export interface PageQuery {
  readonly filters?: Readonly<Record<string, unknown>>;
  readonly afterToken?: string;
}

/** Instances (specification 4.3, 4.5 to 4.7, and what the public service adds). Reads may be repeated; writes never are. */
export interface InstancesResource {
  /** Every machine of the login, or a MarketplaceError: never a part. 410 means: use {@link page}. */
  list(options?: CallOptions): Promise<InstanceList>;
  /** Every machine of the login in whichever form the service serves: the whole list, or all pages of it. */
  listAll(options?: CallOptions): Promise<InstanceList>;
  /** One page of the paged list, ordered by id. */
  page(query?: PageQuery, options?: CallOptions): Promise<InstancePage>;
  /** null where the service says that it is absent: one witness, never proof. */
  get(id: number, options?: CallOptions): Promise<Instance | null>;
  /**
   * Rents an offer: one request, never a second by any layer. With a MarketplaceError of outcome `unknown`
   * a machine may exist and bill.
   */
  rent(
    offerId: number,
    request: RentRequest,
    options: RentOptions & { readonly deadlineMs: number },
  ): Promise<RentAnswer>;
  /** Rents many offers alike. The reply's form is not documented: look for the label in the list. */
  rentMany(offerIds: readonly number[], request: RentRequest, options?: CallOptions): Promise<ChangeAnswer>;
  stop(id: number, options?: CallOptions): Promise<ChangeAnswer>;
  start(id: number, options?: CallOptions): Promise<ChangeAnswer>;
  stopMany(ids: readonly number[], options?: CallOptions): Promise<ChangeAnswer>;
  startMany(ids: readonly number[], options?: CallOptions): Promise<ChangeAnswer>;
  label(id: number, label: string, options?: CallOptions): Promise<ChangeAnswer>;
  reboot(id: number, options?: CallOptions): Promise<ChangeAnswer>;
  /** Stops, removes the container and starts afresh from the image. */
  recycle(id: number, options?: CallOptions): Promise<ChangeAnswer>;
  /** null: the price that wins now. */
  changeBid(id: number, bidPerHour: MicroDollars | null, options?: CallOptions): Promise<ChangeAnswer>;
  /** Asks for the container's log; the text is behind the address that comes back. */
  requestLogs(id: number, query?: LogQuery, options?: CallOptions): Promise<LogAnswer>;
  /** Ends billing. Success is not proof: a machine may still be listed for a while. */
  destroy(id: number, options?: CallOptions): Promise<ChangeAnswer>;
  destroyMany(ids: readonly number[], options?: CallOptions): Promise<ChangeAnswer>;
}

/** Which lines of a log. */
export interface LogQuery {
  readonly filter?: string;
  readonly tailLines?: number;
  readonly daemonLogs?: boolean;
}

/** Where a log can be read. */
export interface LogAnswer extends ChangeAnswer {
  readonly resultUrl: string | undefined;
}
