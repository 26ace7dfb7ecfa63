// The page's own small drawings. The rule of this file: 20 by 20, lines of the text's colour, hidden from those who listen.
const PATHS = {
  send: "M10 16V4M4.5 9.5 10 4l5.5 5.5",
  stop: "M6 6h8v8H6z",
  plus: "M10 4v12M4 10h12",
  menu: "M3 6h14M3 10h14M3 14h14",
  more: "M4.5 10h.01M10 10h.01M15.5 10h.01",
  close: "M5 5l10 10M15 5 5 15",
  check: "M4 10.5 8 14.5 16 6",
  cross: "M5.5 5.5l9 9M14.5 5.5l-9 9",
  chevron: "M7.5 5l5 5-5 5",
  down: "M10 4v12M4.5 10.5 10 16l5.5-5.5",
  copy: "M7 7h9v9H7zM4 13V4h9",
  sun: "M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2M4 4l1.4 1.4M14.6 14.6 16 16M16 4l-1.4 1.4M5.4 14.6 4 16",
  moon: "M16 11.5A6.5 6.5 0 0 1 8.5 4 6.5 6.5 0 1 0 16 11.5z",
  clock: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14M10 6v4l2.5 2",
  hand: "M10 3.5v6M10 13.5h.01M10 2 2 16.5h16z",
  think: "M7 14.5h6M8 17h4M10 2.5a5 5 0 0 0-3 9c.6.5 1 1.2 1 2h4c0-.8.4-1.5 1-2a5 5 0 0 0-3-9z",
  image: "M3 4h14v12H3zM3 13l4-4 4 4 2.5-2.5L17 14M13.5 7.5h.01",
  minus: "M5 10h10",
  fork: "M6 3v6a4 4 0 0 0 4 4h0a4 4 0 0 0 4-4V3M10 13v4",
  inspect: "M3 15V9M7.5 15V4M12 15v-4M16.5 15V7",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 20 20" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Spinner() {
  return <span class="spinner" aria-hidden="true" />;
}
