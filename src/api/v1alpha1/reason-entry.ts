/**
 * Traits of a reason that the code reads. The catalogue is their only place: a separate set of reasons would miss a
 * new one.
 */
export interface ReasonFacets {
  /** Part that the account avoids after this end. */
  readonly avoids?: 'machine' | 'host';
  /** A broken or slow image or start script ends every machine this way. */
  readonly mayBeImage?: true;
  /**
   * Timeout or tolerance of the spec that passed before this end; without it, a single report proves little.
   */
  readonly patience?: 'provisioning' | 'loading' | 'start' | 'offline';
  /** Confirmation that a machine's end for this reason needs; without it, no machine ends for this reason. */
  readonly ground?: 'status' | 'contract' | 'price' | 'request';
  /** Many machines of an account reach this end at the same time if they share one fault. */
  readonly endsInMass?: true;
  /** The object is ending its machine, even if that takes a while or fails. */
  readonly endsMachine?: true;
  /** The machine accepts no more work, whatever its probe reports. */
  readonly endsService?: true;
  /** The object rents no other machine until a person changes its spec. */
  readonly endsForGood?: true;
  /** The operator or a person chose this end: the machine was not lost. */
  readonly isChosen?: true;
  /** The operator knows the result of the machine of a run, or gave it up: the machine has no more work. */
  readonly endsRun?: true;
  /** The machine ended without a destroy by the operator, so a list that shows it again shows the object's machine. */
  readonly endsByItself?: true;
  /** A machine may bill for days without work, although nothing is wrong. */
  readonly billsWhileIdle?: true;
  /** A refused adoption is tried again after a change of the account, or of the machine; else after each list. */
  readonly waitsFor?: 'account' | 'machine';
  /** Result of a search of offers: none can be rented. */
  readonly search?: 'foundNothing';
  /**
   * The condition ends by itself, usually soon: without an event, if the account reports it, or with the marketplace.
   */
  readonly passes?: 'withinMoments' | 'asAccountReports' | 'withMarketplace';
  /**
   * A worker gets no machine, or does not start, until a person acts or the market changes. AccountNotReady does not last:
   * after each start of the operator it is true for seconds, and requests in the queue must outlive them.
   */
  readonly isLasting?: true;
  /** The reason delays the start of a machine, and neither the machine nor its host is the cause. */
  readonly isNotItsOwn?: true;
  /** A person has to fix it, although the operator continues by itself afterwards. */
  readonly needsFix?: true;
  /** Service that is lost: that of the whole marketplace, whose causes follow one another, or that of this account. */
  readonly loses?: 'marketplace' | 'account';
  /** Beginning of a sentence on the lost service, if no HTTP status or code names the cause. */
  readonly cause?: string;
  /** Phase of a GpuInstance that waits for this reason; Pending without it. */
  readonly phase?: 'Paused' | 'Failed' | 'Lost' | 'Stopped';
}

/** A reason of the catalogue. */
export interface ReasonEntry extends ReasonFacets {
  /**
   * `good`: no action is needed. `progress`: the operator is working. `retryable`: it continues by itself when the cause
   * ends. `terminal`: Stalled until a person acts.
   */
  readonly kind: 'good' | 'progress' | 'retryable' | 'terminal';
  /** Event in one sentence. */
  readonly sentence: string;
  /** Advice; left out if there is none. */
  readonly remedy?: string;
}

/** Returns a reason that requires no action. */
export const good = <const Facets extends ReasonFacets>(sentence: string, facets?: Facets) => ({
  ...facets,
  kind: 'good' as const,
  sentence,
});

/**
 * Returns a reason for the time while the operator works. Every reason that is not good states its facets, `{}` if none
 * applies.
 */
export const progress = <const Facets extends ReasonFacets>(
  facets: Facets,
  sentence: string,
  remedy?: string,
) => ({ ...facets, kind: 'progress' as const, sentence, ...(remedy && { remedy }) });

/** Returns a reason that ends with its cause. */
export const retryable = <const Facets extends ReasonFacets>(
  facets: Facets,
  sentence: string,
  remedy: string,
) => ({ ...facets, kind: 'retryable' as const, sentence, remedy });

/** Returns a reason that stalls the object until a person acts. */
export const terminal = <const Facets extends ReasonFacets>(
  facets: Facets,
  sentence: string,
  remedy: string,
) => ({ ...facets, kind: 'terminal' as const, sentence, remedy });
