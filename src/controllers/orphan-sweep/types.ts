import type { BreakerState } from '../../accounts/breaker.ts';
import type { SweepFindings } from '../../accounts/session.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { EventNote } from '../../runtime/events.ts';

/** A machine of this installation that no object of the cluster claims. The objects were listed after the machines. */
export interface Candidate {
  readonly instanceId: string;
  /** When its label was issued, epoch milliseconds. */
  readonly issuedAt: number;
  /** Start date of the machine, in epoch milliseconds. */
  readonly startedAt: number | undefined;
  readonly label: string | null | undefined;
  /** Two complete lists a poll apart agree on its label and start. */
  readonly isAgreed: boolean;
  /** True if the machine began after the window of its label. */
  readonly isLate?: true;
  /**
   * Set if the record of an account of the login shows that the operator destroyed the machine for an object that is
   * now deleted.
   */
  readonly wasDestroyed?: true;
  readonly pricePerHour: MicroDollars | undefined;
  /** Number of consecutive sweeps in which the machine was orphaned, including this one. */
  readonly sweeps: number;
  /** The newest rental in any durable record of its login at the first of these sweeps; 0 if there was none. */
  readonly newestRecordAt: number;
}

/** Facts that one sweep of a login needs, in one frozen value. */
export interface Observed {
  /**
   * Epoch milliseconds, by the clock that dates machines. Undefined until two complete lists agree on it; until then
   * no machine is old enough.
   */
  readonly now: number | undefined;
  readonly candidates: readonly Candidate[];
  /** Ids of machines that have the operator's label but cannot be its machines. */
  readonly copied: readonly string[];
  /** Other installations that labels of the login name; their machines are never changed. */
  readonly others?: readonly string[];
  /** Findings of the sweep before this one, so that only changes become events. */
  readonly before: SweepFindings;
  /** `Destroy` only if every account of the login has that policy. */
  readonly policy: 'Report' | 'Destroy';
  readonly breaker: BreakerState;
  readonly sweep: 'allowed' | 'clusterChanged' | 'scopeShrunk';
  readonly isLeader: boolean;
  readonly orphanAgeMs: number;
  readonly lateOrphanAgeMs: number;
  /** Maximum number of machines that may lose their objects within an hour before a person has to decide. */
  readonly maxOrphans: number;
  /** Orphans whose destroy is on record within the last hour, and how many of them within the last ten minutes. */
  readonly swept: { readonly lastHour: ReadonlySet<string>; readonly lastWindow: number };
  /** Ids recorded in a status of the login since many machines lost their objects at the same time. */
  readonly massLatched: readonly string[];
  /** The recorded ids that a person has confirmed: these machines are destroyed slowly. */
  readonly massConfirmed: ReadonlySet<string>;
  /** Number of machines of this installation and login, claimed or not. */
  readonly machines: number;
  /** Ids recorded in a status of the login as proof of a rollback of the cluster's memory. */
  readonly latched: readonly string[];
  /** An account of the login has a record that a newer operator wrote, and that may protect machines. */
  readonly hasNewerRecord?: boolean;
  /** Epoch milliseconds at which a person last confirmed a rollback, for any account of the login; 0 for never. */
  readonly confirmedAt: number;
}

export type Action =
  | {
      readonly type: 'destroy';
      readonly instanceId: string;
      readonly pricePerHour: MicroDollars | undefined;
      /** Label in the lists. A read of the machine must show the same label. */
      readonly label: string | null | undefined;
      readonly startedAt: number | undefined;
      readonly wasDestroyed?: true;
    }
  /** A machine is orphaned for the first time: the second sweep, which settles it, should come soon. */
  | { readonly type: 'lookAgain' };

export interface Decision {
  readonly findings: SweepFindings;
  readonly actions: readonly Action[];
  /** Recorded before the actions. */
  readonly events: readonly EventNote[];
  /** Reason why orphans are not destroyed, for the log; undefined if all are destroyed or there are none. */
  readonly kept: string | undefined;
}
