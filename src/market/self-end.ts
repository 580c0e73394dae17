/** Call that a container makes about its own machine. */
export interface OwnCall {
  readonly method: string;
  /** JSON body. */
  readonly body: string;
}

/** Calls by which a machine of a market ends or stops itself with its own key. */
export interface SelfEndFacts {
  /** Environment variable of a container with the id of its machine. */
  readonly idVariable: string;
  /** Environment variable of a container with the key that opens its own machine only. */
  readonly keyVariable: string;
  /** Returns the path of the machine of that id. */
  path(id: string): string;
  /** Ends the machine and its billing. */
  readonly end: OwnCall;
  /** Changes nothing on a running machine, and succeeds only if the key may change it. */
  readonly probe: OwnCall;
  /** Stops the machine: its compute is no longer billed, its disk stays. Undefined if a market has no stop. */
  readonly stop?: OwnCall;
}

/** Times after which a machine ends itself. */
export interface Fuses {
  /** Seconds of running in all, restarts included. */
  readonly lifeSeconds?: number | undefined;
  /** Seconds without a renewal, once it was renewed. */
  readonly leaseSeconds?: number | undefined;
}
