import type { ComponentType } from 'preact';
import { Fleet } from './fleet.tsx';

/** A view of the page. */
export interface PageView {
  /** Value of `view` in the URL. */
  readonly id: string;
  readonly title: string;
  readonly component: ComponentType;
}

/** All views, in the order of the navigation. The first is shown without `view` in the URL. */
export const VIEWS: readonly [PageView, ...PageView[]] = [{ id: 'fleet', title: 'Fleet', component: Fleet }];
