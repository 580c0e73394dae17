/** Parts of this controller that the command line may import. */
export { accountFacts } from './account-facts.ts';
export { type ExplainDeps, type Explained, explainInstance, type Forecast, forecast } from './explain.ts';
export { desiredFuse, fuseLifeMs } from './fuse.ts';
export type { OtherObjects } from './observe.ts';
export {
  type Choice,
  type ChoiceInput,
  type Exclusions,
  hasPriceRule,
  offerChecks,
  offerQuery,
  totalPrice,
  wouldMatchWithout,
} from './offers.ts';
export { tryChildren } from './publish.ts';
export { asIfConfirmed, failedSearch, type Reader } from './reads.ts';
export { type RentalSetting, readInputs } from './rental-inputs.ts';
export { rentalNonce, sentRun, sentStart } from './sent-start.ts';
export type { Stage } from './stage.ts';
export type { AccountFacts, Action, Decision, InputsView, OffersView, Requeue } from './types.ts';
