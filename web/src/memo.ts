// A component that is drawn again only when something that it is given is another value.
import { Component } from "preact";
import type { ComponentChildren, FunctionComponent } from "preact";

export function memo<P extends object>(drawn: (props: P) => ComponentChildren): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const names = Object.keys(next) as (keyof P)[];
      return names.length !== Object.keys(this.props).length || names.some((name) => next[name] !== (this.props as P)[name]);
    }

    override render(props: P): ComponentChildren {
      return drawn(props);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
