# SPDX-License-Identifier: MIT
"""The words the synthetic chats are made of. Each list is a closed little world, so that a tiny model can learn it."""

NAMES = "Mia Leo Anna Tom Lily Max Nora Sam Ella Finn Zoe Ben Ruby Jack Ivy Hugo Rosa Omar Kim Ravi".split()
ANIMALS = {"cat": "meow", "dog": "woof", "cow": "moo", "duck": "quack", "sheep": "baa", "lion": "roar", "frog": "ribbit",
           "bird": "tweet", "horse": "neigh", "pig": "oink", "owl": "hoot", "bee": "buzz", "mouse": "squeak", "wolf": "howl"}
BABY = {"cat": "kitten", "dog": "puppy", "cow": "calf", "duck": "duckling", "sheep": "lamb", "lion": "cub", "horse": "foal",
        "pig": "piglet", "frog": "tadpole", "bird": "chick", "owl": "owlet", "wolf": "pup"}
THINGS = {"ball": "red", "kite": "blue", "boat": "white", "hat": "yellow", "lamp": "bright", "drum": "loud", "cake": "sweet",
          "key": "golden", "map": "old", "bell": "silver", "shell": "pink", "rope": "long", "cup": "green", "coat": "warm"}
PLACES = "forest garden river hill beach village barn meadow lake market cave bridge island library school".split()
ADJ = "little happy brave quiet clever kind curious gentle sleepy proud".split()
FEEL = "happy proud calm glad thankful joyful".split()
LESSONS = ["it is good to share", "a friend is the best help", "it is brave to try again", "small steps take you far",
           "kind words open doors", "it is wise to ask for help", "patience brings good things", "everyone makes mistakes"]
COLORS = {"the sky": "blue", "grass": "green", "snow": "white", "a banana": "yellow", "coal": "black", "a strawberry": "red",
          "an orange": "orange", "the sun": "yellow", "a tomato": "red", "milk": "white", "a leaf": "green", "the sea": "blue"}
OPPOSITE = {"hot": "cold", "big": "small", "up": "down", "day": "night", "fast": "slow", "happy": "sad", "open": "closed",
            "wet": "dry", "old": "new", "light": "dark", "full": "empty", "hard": "soft", "early": "late", "high": "low",
            "loud": "quiet", "near": "far", "strong": "weak", "long": "short"}
CAPITAL = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Germany": "Berlin", "Japan": "Tokyo", "Egypt": "Cairo",
           "Norway": "Oslo", "Greece": "Athens", "Portugal": "Lisbon", "China": "Beijing", "Russia": "Moscow",
           "Austria": "Vienna", "Poland": "Warsaw", "Kenya": "Nairobi", "Peru": "Lima", "Cuba": "Havana"}
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
LISTS = {"fruits": "apple pear plum cherry banana grape lemon peach".split(), "colors": "red blue green yellow white black pink".split(),
         "animals": "cat dog horse sheep owl frog duck lion".split(), "vegetables": "carrot potato onion bean pea cabbage".split(),
         "tools": "hammer saw drill wrench pliers file".split(), "planets": "Mercury Venus Earth Mars Jupiter Saturn".split(),
         "metals": "iron copper gold silver tin zinc".split(), "trees": "oak pine birch maple willow elm".split(),
         "instruments": "piano violin drum flute guitar harp".split(), "sports": "football tennis rowing skiing running chess".split()}
NUM = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()
USES = {"hammer": "drive nails", "saw": "cut wood", "cup": "drink tea", "boat": "cross water", "lamp": "light a room",
        "key": "open a lock", "map": "find the way", "rope": "tie things", "coat": "stay warm", "pen": "write words",
        "broom": "sweep the floor", "clock": "tell the time", "spoon": "eat soup", "bell": "call people"}
