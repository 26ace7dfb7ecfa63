// Dark or light: what the system says, unless somebody chose.
export type Theme = "dark" | "light";
const NAME = "headrace.theme";

export function themeNow(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  if (chosen === "dark" || chosen === "light") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function nextTheme(): Theme {
  const next = themeNow() === "dark" ? "light" : "dark";
  document.documentElement.dataset["theme"] = next;
  try {
    localStorage.setItem(NAME, next);
  } catch {
    // Storage may be forbidden; then the choice holds until the page is left.
  }
  return next;
}

export function useChosenTheme(): void {
  try {
    const chosen = localStorage.getItem(NAME);
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset["theme"] = chosen;
  } catch {
    // The same.
  }
}
