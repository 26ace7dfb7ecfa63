// Runs before the page is drawn, so that it never flashes in the other colours.
import { useChosenTheme } from "./theme.ts";

useChosenTheme();
